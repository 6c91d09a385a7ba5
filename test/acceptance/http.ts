/** A plain HTTP client that may set any header, `Host` among them (fetch may not), and sends bodies byte by byte. */
import { type Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';

export type Answer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Decompressed. */
  readonly text: string;
  /** The parsed JSON; undefined for any other answer. */
  readonly body: unknown;
};

export type Outgoing = {
  readonly method: string;
  /** With its query, escaped. */
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders;
  /** Sent as it is. */
  readonly raw?: string | Buffer;
};

/** One request to 127.0.0.1. Rejects only where there is no answer. */
export function send(agent: Agent, port: number, { method, path, headers = {}, raw }: Outgoing): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ agent, host: '127.0.0.1', port, method, path, headers }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const text = decompressed(incoming.headers['content-encoding'], Buffer.concat(chunks)).toString('utf8');
        const isJson = incoming.headers['content-type']?.startsWith('application/json') === true;
        const body: unknown = isJson && text !== '' ? JSON.parse(text) : undefined;
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text, body });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(raw);
  });
}

function decompressed(encoding: string | undefined, bytes: Buffer): Buffer {
  if (encoding === 'br') return brotliDecompressSync(bytes);
  return encoding === 'gzip' ? gunzipSync(bytes) : bytes;
}

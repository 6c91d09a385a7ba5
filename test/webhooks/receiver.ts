/** An integrator's endpoint: a real HTTPS server on the loopback address that keeps what it was sent. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { generate } from 'selfsigned';

export type ReceivedCall = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
};

export type Answer = (response: ServerResponse, call: ReceivedCall) => void;

export type Receiver = {
  readonly url: string;
  readonly port: number;
  /** PEM of the certificate, which is its own authority. */
  readonly caPem: string;
  readonly calls: ReceivedCall[];
  /** TCP connections that were accepted. */
  connections: number;
  /** Answers in turn; the last one repeats. */
  answers: Answer[];
  /** Resolves when so many calls have come. */
  arrived(count: number): Promise<void>;
  close(): Promise<void>;
};

export const status =
  (code: number, headers: Record<string, string> = {}, body = ''): Answer =>
  (response) =>
    response.writeHead(code, headers).end(body);

/** Takes the call and never answers. */
export const hang: Answer = () => undefined;

/** A certificate for 127.0.0.1 and localhost, as PEM: the same for all receivers, so one authority serves for all. */
let certificate: ReturnType<typeof makeCertificate> | undefined;

async function makeCertificate(): Promise<{ key: string; cert: string }> {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'keyUsage', digitalSignature: true, keyCertSign: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 2, value: 'receiver.test' },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  });
  return { key, cert };
}

export async function startReceiver(...answers: Answer[]): Promise<Receiver> {
  certificate ??= makeCertificate();
  const { key, cert } = await certificate;
  const waiting: { count: number; resolve: () => void }[] = [];
  const server = createServer({ key, cert }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      const call = { method, path, headers, body: Buffer.concat(chunks) };
      const answer = receiver.answers[Math.min(receiver.calls.length, receiver.answers.length - 1)];
      receiver.calls.push(call);
      answer?.(response, call);
      for (const { count, resolve } of waiting) if (receiver.calls.length >= count) resolve();
    });
  });
  server.on('connection', () => {
    receiver.connections += 1;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `https://127.0.0.1:${port}/orders`,
    port,
    caPem: cert,
    calls: [],
    connections: 0,
    answers,
    arrived: (count) =>
      new Promise((resolve) => {
        if (receiver.calls.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return receiver;
}

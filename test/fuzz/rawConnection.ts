/** Sends bytes over a connection of their own, and reads the answers as strictly as a suspicious client does. */
import { connect } from 'node:net';

export type RawCase = {
  /** What it is, for the report of a failure. */
  readonly name: string;
  readonly bytes: Buffer;
  /** Whether the client is gone as soon as it has sent them. */
  readonly isCut?: boolean;
};

export type RawAnswer = {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
};

const LONGEST_WAIT_MS = 3000;
/** Nothing more comes after so long a silence. */
const QUIET_MS = 60;

/** All that came back until the connection was closed, or nothing more came. */
export function exchange(port: number, { bytes, isCut = false }: RawCase): Promise<Buffer> {
  return new Promise((resolve) => {
    const received: Buffer[] = [];
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: !isCut });
    const done = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(Buffer.concat(received));
    };
    let timer = setTimeout(done, LONGEST_WAIT_MS);
    socket.on('data', (data: Buffer) => {
      received.push(data);
      clearTimeout(timer);
      timer = setTimeout(done, QUIET_MS);
    });
    // The service may close the connection in the middle of what is sent.
    for (const event of ['error', 'end', 'close']) socket.on(event, done);
    socket.once('connect', () => {
      socket.write(bytes);
      if (isCut) socket.end();
    });
  });
}

/**
 * The answers in what came back; the last one may be cut off, and is then left out (RFC 9112).
 * @throws Error for bytes that are no HTTP answer
 */
export function answersIn(received: Buffer, wasHead: boolean): readonly RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = received.toString('latin1');
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) break;
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n');
    const status = /^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*$/.exec(statusLine)?.[1];
    if (status === undefined) throw new Error(`No status line: ${JSON.stringify(statusLine.slice(0, 200))}`);
    const headers = new Map(lines.map(headerOf));
    rest = rest.slice(end + 4);
    const hasNone = wasHead || Number(status) < 200 || status === '204' || status === '304';
    const found = hasNone ? { body: '', rest } : bodyIn(rest, headers);
    if (found === undefined) break;
    rest = found.rest;
    answers.push({ status: Number(status), headers, body: Buffer.from(found.body, 'latin1').toString('utf8') });
  }
  return answers;
}

function headerOf(line: string): [name: string, value: string] {
  const colon = line.indexOf(':');
  if (colon < 1) throw new Error(`No header field: ${JSON.stringify(line.slice(0, 200))}`);
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}

function bodyIn(text: string, headers: ReadonlyMap<string, string>): { body: string; rest: string } | undefined {
  if (headers.get('transfer-encoding') === 'chunked') {
    let body = '';
    let rest = text;
    for (;;) {
      const [size] = /^[\da-f]+(?=\r\n)/i.exec(rest) ?? [];
      if (size === undefined) return undefined;
      const start = size.length + 2;
      const length = Number.parseInt(size, 16);
      if (rest.length < start + length + 2) return undefined;
      body += rest.slice(start, start + length);
      rest = rest.slice(start + length + 2);
      if (length === 0) return { body, rest };
    }
  }
  const length = Number(headers.get('content-length') ?? text.length);
  return text.length < length ? undefined : { body: text.slice(0, length), rest: text.slice(length) };
}

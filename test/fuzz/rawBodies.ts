/** Bodies on the wire: lengths and chunks that contradict the body or each other, and what unpacks to much more than it is. */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';

export type Header = string | Buffer;

export const bytes = (...parts: readonly Header[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)));

/** Body headers that contradict the body, or each other. */
export const framings = (body: Buffer): fc.Arbitrary<{ headers: readonly Header[]; body: Buffer }> => {
  const length = body.length;
  const whole = chunked(body);
  return fc.constantFrom(
    { headers: [`Content-Length: ${length + 10}`], body },
    { headers: [`Content-Length: ${Math.max(0, length - 1)}`], body },
    { headers: [`Content-Length: ${length}`, `Content-Length: ${length + 1}`], body },
    { headers: [`Content-Length: ${length}, ${length}`], body },
    ...['-1', '+2', '0x10', '1e3', '99999999999999999999', '9007199254740993', '', ' ', 'abc', '2 2'].map((wrong) => ({
      headers: [`Content-Length: ${wrong}`],
      body,
    })),
    { headers: ['Transfer-Encoding: chunked'], body: whole },
    { headers: ['Transfer-Encoding: chunked', `Content-Length: ${length}`], body: whole },
    { headers: ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'], body: whole },
    { headers: ['Transfer-Encoding: gzip, chunked'], body: whole },
    { headers: ['Transfer-Encoding: xchunked'], body: whole },
    { headers: ['Transfer-Encoding:\x0bchunked'], body: whole },
    { headers: ['Transfer-Encoding: chunked'], body },
    ...[
      'zz\r\n',
      '-1\r\n',
      'ffffffffffffffff\r\n',
      '5\r\nab\r\n',
      '2\nab\n0\n\n',
      `1${';x=y'.repeat(5000)}\r\na\r\n0\r\n\r\n`,
      `${'0'.repeat(10_000)}\r\n\r\n`,
      '1\r\na\r\n0\r\nX-Trailer: 1\r\nContent-Length: 5\r\n\r\n',
      '0\r\n\r\nGET /health/live HTTP/1.1\r\nHost: x\r\n\r\n',
    ].map((wrong) => ({ headers: ['Transfer-Encoding: chunked'], body: Buffer.from(wrong) })),
  );
};

const chunked = (body: Buffer): Buffer => bytes(`${body.length.toString(16)}\r\n`, body, '\r\n0\r\n\r\n');

export const encodings = fc.tuple(
  fc.constantFrom('gzip', 'deflate', 'br', 'gzip, gzip', 'x-gzip', 'identity', 'zstd', 'compress', ''),
  fc.constantFrom('whole', 'cut', 'plain', 'bomb'),
);

const BOMB_BYTES = 64 * 2 ** 20;
const madeOnce = new Map<string, Buffer>();

export function encoded(encoding: string, how: string, body: Buffer): Buffer {
  const pack = encoding.includes('br') ? brotliCompressSync : encoding === 'deflate' ? deflateSync : gzipSync;
  if (how === 'plain') return body;
  if (how !== 'bomb') return how === 'cut' ? pack(body).subarray(0, -6) : pack(body);
  const bomb = madeOnce.get(pack.name) ?? pack(Buffer.alloc(BOMB_BYTES, ' '));
  madeOnce.set(pack.name, bomb);
  return bomb;
}

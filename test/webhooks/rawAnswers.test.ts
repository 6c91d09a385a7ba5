/**
 * Receivers' answers byte by byte: which ones count, which reasons the others give, and which connections are reused.
 */
import type { Socket } from 'node:net';
import { createHttpsTransport, type TransportOptions, type WebhookTransport } from '#app/webhooks/httpsTransport.js';
import { addressPolicy } from '#app/webhooks/targetAddress.js';
import { Receiver, type Write } from '../acceptance/receiver.js';
import { scaled } from '../engines/timeScale.js';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const DOWN = 'HTTP/1.1 503 Down\r\nContent-Length: 0\r\n\r\n';
const interim = (status: number, fields = ''): string => `HTTP/1.1 ${status} So far\r\n${fields}\r\n`;
const bytes =
  (text: string) =>
  (socket: Socket): void =>
    void socket.write(text);
const thenClose =
  (text: string) =>
  (socket: Socket): void =>
    void socket.end(text);

let receiver: Receiver;
let transport: WebhookTransport | undefined;

async function open(
  answer: (socket: Socket) => void,
  when: 'all' | 'begun' = 'all',
  options: Partial<TransportOptions> = {},
): Promise<void> {
  receiver = await Receiver.start();
  const write: Write = (_response, socket) => answer(socket);
  if (when === 'begun') receiver.replyEarly('/orders', write);
  else receiver.reply('/orders', () => write);
  transport = createHttpsTransport({ policy: addressPolicy(['127.0.0.0/8']), caPem: receiver.caPem, ...options });
}

const post = (body = '{}') =>
  transport?.post({
    url: receiver.url('/orders'),
    headers: { 'Content-Type': 'application/json' },
    body: Buffer.from(body),
  });

afterEach(async () => {
  await transport?.close();
  await receiver.stop();
});

/** Text fit for an order: one line for people. */
const inWords = (result: Awaited<ReturnType<typeof post>>): string => {
  if (result === undefined || result.ok) throw new Error('The attempt did not fail.');
  expect(result.reason).toMatch(/^[a-zA-Z][^\n]{10,300}$/);
  expect(result.reason).not.toMatch(/assert|undefined|\.js|node:|\.c:\d/i);
  return result.reason;
};

describe('interim answers (RFC 9110 §15.2)', () => {
  test.each([
    ['several', [100, 102, 103, 103].map((status) => interim(status)).join('')],
    ['with header fields', interim(103, 'Link: </a>; rel=preload\r\nContent-Type: text/html\r\n')],
  ])('are skipped: %s', async (_, first) => {
    await open(bytes(first + OK));
    expect(await post()).toMatchObject({ ok: true, status: 200 });
    expect(await post()).toMatchObject({ ok: true, status: 200 });
    expect(receiver.connections).toBe(1);
  });

  test('without end are given up', async () => {
    await open(bytes(interim(102).repeat(21) + OK));
    const result = await post();
    expect(inWords(result)).toBe('more than 20 interim answers (HTTP 1xx) and no final one');
    expect(result).toMatchObject({ status: null });
    await receiver.closed(1);
  });

  test.each([
    ['', '\r\n', { status: 101, reason: 'HTTP 101' }],
    [
      'with Upgrade',
      'Connection: upgrade\r\nUpgrade: websocket\r\n\r\nframe',
      { status: null, reason: 'the connection was closed before there was an answer' },
    ],
  ])('101 Switching Protocols is a failure %s', async (_, rest, failure) => {
    await open(bytes(`HTTP/1.1 101 Switching Protocols\r\n${rest}`), 'all', { totalTimeoutMs: 2_000 });
    expect(await post()).toMatchObject({ ok: false, ...failure });
    await receiver.closed(1);
  });
});

describe('answers that count', () => {
  test.each([
    ['without a reason phrase', 'HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n'],
    ['in chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'],
    ['without content', 'HTTP/1.1 204 No Content\r\n\r\n'],
  ])('%s', async (_, answer) => {
    await open(bytes(answer));
    for (let i = 0; i < 3; i++) expect(await post()).toMatchObject({ ok: true });
    expect(receiver.connections).toBe(1);
  });

  test('with large header fields: those that fit into 2 KB are kept, and no cookie', async () => {
    const long = `X-Long: ${'x'.repeat(2_048)}`;
    const fields = ['__proto__: 1', 'Set-Cookie: session=1', long, 'Content-Length: 0', 'X-Id: 7', 'X-ID: 8'];
    await open(bytes(`HTTP/1.1 200 OK\r\n${fields.join('\r\n')}\r\n\r\n`));
    expect((await post())?.responseHeaders).toEqual(Object.entries({ 'content-length': '0', 'x-id': '7, 8' }));
  });

  test.each([
    ['whose body is shorter than it says', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok'],
    ['with a chunk that is none', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\n'],
  ])('%s: the status counts, the connection is not used again', async (_, answer) => {
    await open(bytes(answer), 'all', { totalTimeoutMs: scaled(500) });
    for (let i = 0; i < 2; i++) expect(await post()).toMatchObject({ ok: true, status: 200, responseBody: 'ok' });
    expect(receiver.connections).toBe(2);
  });
});

describe('an answer that comes before the whole request was sent', () => {
  const large = JSON.stringify({ text: 'x'.repeat(8_000_000) });

  test.each([
    ['413, and the rest is read', bytes('HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n'), 413],
    ['200, and the rest is read', bytes(OK), 200],
    [
      '413, and the connection ends',
      thenClose('HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'),
      413,
    ],
    ['401 that waits for the close', thenClose('HTTP/1.1 401 Unauthorized\r\n\r\nwho?'), 401],
  ])('counts: %s', async (_, answer, status) => {
    await open(answer, 'begun');
    expect(await post(large)).toMatchObject({ status, ok: status === 200 });
    expect(await post()).toMatchObject({ status });
  });
});

describe('what is no answer is a failure with its reason', () => {
  test.each([
    ['junk before it', `junk\r\n${OK}`],
    ['status 1000', 'HTTP/1.1 1000 Odd\r\nContent-Length: 0\r\n\r\n'],
    ['large header fields', `HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`],
    ['large fields of an interim answer', interim(103, `X-A: ${'a'.repeat(20_000)}\r\n`) + OK],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 40\r\n\r\nok'],
    ['a length and chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok'],
  ])('%s', async (_, answer) => {
    await open(bytes(answer));
    const result = await post();
    inWords(result);
    expect(result).toMatchObject({ ok: false, status: null });
    await receiver.closed(1);
    await post();
    expect(receiver.connections).toBe(2);
  });

  test.each([
    ['nothing', ''],
    ['a status line', 'HTTP/1.1 200 OK\r\n'],
    ['a part of the header fields', 'HTTP/1.1 200 OK\r\nContent-Len'],
    ['an interim answer', interim(100)],
  ])('the connection ends behind %s', async (_, answer) => {
    await open(thenClose(answer));
    expect(inWords(await post())).toMatch(/closed|hang up|ECONNRESET/);
    await transport?.close();
    await receiver.stop();
    await open((socket) => void socket.write(answer, () => receiver.reset()), 'all', { totalTimeoutMs: 2_000 });
    expect(inWords(await post())).toMatch(/closed|hang up|ECONNRESET/);
  });
});

describe('a connection on which more comes than was asked for is not used again', () => {
  const POISON = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison';

  test.each([
    ['another answer', DOWN + POISON],
    ['text', `${DOWN}junk`],
    ['an empty line and another answer', `${DOWN}\r\n${POISON}`],
    ['an interim answer', DOWN + interim(100)],
  ])('in the same packet: %s', async (_, answer) => {
    await open(bytes(answer));
    for (let i = 0; i < 3; i++) expect(await post()).toMatchObject({ ok: false, status: 503, responseBody: '' });
    await receiver.closed(3);
    expect(receiver.connections).toBe(3);
  });

  test.each([
    ['another answer', POISON],
    ['text', 'junk'],
    ['a half of an answer', POISON.slice(0, 20)],
  ])('later: %s', async (_, junk) => {
    const later = (socket: Socket): void => {
      socket.setNoDelay();
      socket.write(DOWN, () => setImmediate(() => socket.write(junk)));
    };
    await open(later);
    for (let n = 1; n <= 3; n++) {
      expect(await post()).toMatchObject({ ok: false, status: 503, responseBody: '' });
      await receiver.closed(n);
    }
  });
});

/** Large answers are sent in pieces, so that no other connection waits for megabytes to be copied. */
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Response } from 'express';
import { bytesOf, type JsonText, sendInPieces } from '#app/api/jsonAnswer.js';

let server: Server;
let sent: Promise<void>;
let slow: number;
let json: JsonText;

beforeEach(async () => {
  slow = 0;
  server = createServer((req, res) => {
    const answer = Object.assign(res, { req: Object.assign(req, { context: {} }) }) as unknown as Response;
    const bytes = bytesOf(json);
    sent = sendInPieces(answer, 200, json, { 'X-Other': 'kept' }, { bytes, onSlow: () => (slow += 1) });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function ask(): Promise<IncomingMessage> {
  const outgoing = get({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, agent: false });
  const [incoming] = await once(outgoing, 'response');
  return incoming;
}

it.each<[string, JsonText]>([
  ['one string', 'x'.repeat(1_000_001)],
  ['a pair of surrogates where a piece would end', `${'x'.repeat(1_048_575)}😀${'y'.repeat(1_048_576)}😀`],
  ['strings and bytes', ['{"a":', Buffer.from('é'.repeat(400_000)), '', 'ü'.repeat(300_000), '}']],
])('%s arrive as they are', async (_what, given) => {
  json = given;
  const incoming = await ask();
  const whole = typeof given === 'string' ? given : given.map((part) => part.toString()).join('');
  expect(await text(incoming)).toBe(whole);
  expect(incoming.headers).toMatchObject({
    'content-length': String(Buffer.byteLength(whole)),
    'content-type': 'application/json; charset=utf-8',
    'x-other': 'kept',
  });
});

it('a client that does not read is told of once, and gets the rest when it does', async () => {
  json = Array.from({ length: 100 }, () => Buffer.alloc(500_000, 'z'));
  const incoming = await ask();
  while (slow === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  expect((await text(incoming)).length).toBe(50_000_000);
  await sent;
  expect(slow).toBe(1);
});

import { Agent, get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { startHttpServer } from '#app/api/listen.js';

const answerOf = (port: number, agent: Agent): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, agent }, (answer) => {
      answer.resume();
      answer.once('end', () => resolve(answer));
    }).once('error', reject);
  });

test('a stop lets the request in flight finish, closes idle connections, and takes no more', async () => {
  let arrived = (): void => {};
  const inFlight = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  let finish = (): void => {};
  const server = await startHttpServer(
    (_req, res) => {
      finish = () => res.end('done');
      arrived();
    },
    { host: '127.0.0.1', port: 0 },
  );
  const agent = new Agent({ keepAlive: true });
  const answer = answerOf(server.port, agent);
  await inFlight;
  const stopped = server.stop();
  await expect(answerOf(server.port, new Agent())).rejects.toThrow();
  finish();
  expect((await answer).statusCode).toBe(200);
  await stopped;
  agent.destroy();
});

test('what takes longer than the grace is cut', async () => {
  let arrived = (): void => {};
  const inFlight = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const server = await startHttpServer(() => arrived(), { host: '127.0.0.1', port: 0 });
  const answer = answerOf(server.port, new Agent());
  const cut = expect(answer).rejects.toThrow();
  await inFlight;
  await server.stop(50);
  await cut;
});

it.each([
  ['a request that is no HTTP', 'nonsense\r\n\r\n', 400],
  ['header fields of 20 KB', `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
])('§7 %s is answered in the form of every other error', async (_name, bytes, status) => {
  const server = await startHttpServer((_req, res) => res.end('reached'), { host: '127.0.0.1', port: 0 });
  const answer = await new Promise<string>((resolve, reject) => {
    let text = '';
    const socket = connect(server.port, '127.0.0.1', () => socket.write(bytes));
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('close', () => resolve(text)).on('error', reject);
  });
  await server.stop();
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toEqual({
    message: expect.any(String),
    error: expect.any(String),
  });
});

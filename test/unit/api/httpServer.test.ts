/** The HTTP server: its stop, and clients that are slow. */
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { countWaiting } from '#app/api/admission.js';
import { startHttpServer } from '#app/api/listen.js';
import { Tally } from '#app/supervision/fairQueue.js';

const here = { host: '127.0.0.1', port: 0 };

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
  const server = await startHttpServer((_req, res) => {
    finish = () => res.end('done');
    arrived();
  }, here);
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
  const server = await startHttpServer(() => arrived(), here);
  const answer = answerOf(server.port, new Agent());
  const cut = expect(answer).rejects.toThrow();
  await inFlight;
  await server.stop(50);
  await cut;
});

test('a request that has not arrived in time is 408', async () => {
  const server = await startHttpServer(() => undefined, { ...here, arrivalMs: 240 });
  const client = connect(server.port, here.host);
  client.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{');
  expect(await text(client)).toMatch(
    /^HTTP\/1\.1 408 (?:.*\r\n)+\{"message":"Request Timeout","error":"The request took too/,
  );
  await server.stop();
});

test('an answer that has not been taken within two minutes is cut, and takes no more of its tenant', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'setInterval', 'clearInterval'] });
  const waiting = new Tally();
  const server = await startHttpServer((_req, res) => {
    res.end(Buffer.alloc(50_000_000));
    countWaiting(waiting, 'acme', res.writableLength, res);
    client.emit('answered', once(res, 'close'));
  }, here);
  const client = connect(server.port, here.host).pause();
  client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const [closed] = await once(client, 'answered');
  jest.advanceTimersByTime(119_000);
  expect(waiting.of('acme')).toBeGreaterThan(0);
  jest.advanceTimersByTime(1_000);
  jest.useRealTimers();
  await closed;
  expect(waiting.of('acme')).toBe(0);
  client.destroy();
  await server.stop();
});

/** Clients that are slow: the request does not arrive, or the answer is not taken. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { countWaiting } from '#app/api/admission.js';
import { startHttpServer } from '#app/api/listen.js';
import { Tally } from '#app/supervision/fairQueue.js';

const here = { host: '127.0.0.1', port: 0 };

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

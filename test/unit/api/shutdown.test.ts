import { Agent, get, type IncomingMessage } from 'node:http';
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

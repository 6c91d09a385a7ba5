/** Asks /health/live every 20 ms over a connection of its own, from a thread of its own, until it is told to stop. */
import { Agent, get } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

const EVERY_MS = 20;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const seen = { probes: 0, failures: [], worstMs: 0, worstAtMs: 0 };
const startedAt = performance.now();
let isStopped = false;
parentPort.once('message', () => {
  isStopped = true;
});

const ask = () =>
  new Promise((resolve) => {
    const request = get({ agent, host: '127.0.0.1', port: workerData.port, path: '/health/live' }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode === 200 ? undefined : `HTTP ${answer.statusCode}`));
    });
    request.once('error', (error) => resolve(error.message));
  });

while (!isStopped) {
  const askedAt = performance.now();
  const failure = await ask();
  const tookMs = performance.now() - askedAt;
  seen.probes += 1;
  if (failure !== undefined) seen.failures.push(failure);
  if (tookMs > seen.worstMs) Object.assign(seen, { worstMs: tookMs, worstAtMs: askedAt - startedAt });
  await wait(Math.max(0, EVERY_MS - tookMs));
}
agent.destroy();
parentPort.postMessage(seen);

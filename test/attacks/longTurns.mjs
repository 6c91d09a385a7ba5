/**
 * Loaded before a service: notes each turn of the main thread's event loop that takes 10 ms or more of the processor, a line
 * each. It measures processor time, so that a busy machine makes no turn longer.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const NOTED_MS = 10;

/** Of the main thread. Node knows it from 23.9 on, and Linux always. */
const cpuMs =
  process.threadCpuUsage === undefined
    ? () => Number(readFileSync('/proc/self/schedstat', 'latin1').split(' ')[0]) / 1e6
    : () => {
        const { user, system } = process.threadCpuUsage();
        return (user + system) / 1000;
      };

if (isMainThread && process.argv.includes('start')) {
  let before = cpuMs();
  // Timers run once in each turn.
  setInterval(() => {
    const now = cpuMs();
    if (now - before >= NOTED_MS) appendFileSync(process.env.LONG_TURNS, `${now - before}\n`);
    before = now;
  }, 1).unref();
}

/** How long a bystander waits while something happens: the event loop of the service shows in it. */
import type { Service } from '../acceptance/service.js';

export type Watched<T> = { readonly result: T; readonly ms: number; readonly longestWaitMs: number };

/** Asks `/health/live` over and over while the work is done. */
export async function watched<T>(service: Service, work: () => Promise<T>): Promise<Watched<T>> {
  let longestWaitMs = 0;
  let isDone = false;
  const ask = async (): Promise<void> => {
    while (!isDone) {
      const before = performance.now();
      const { status } = await service.send({ method: 'GET', path: '/health/live' });
      expect(status).toBe(200);
      longestWaitMs = Math.max(longestWaitMs, performance.now() - before);
    }
  };
  const asking = ask();
  const before = performance.now();
  const result = await work().finally(() => {
    isDone = true;
  });
  const ms = performance.now() - before;
  await asking;
  return { result, ms, longestWaitMs };
}

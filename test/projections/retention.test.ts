import PQueue from 'p-queue';
import type { ReadModelWriter } from '#app/ports/readModelWriter.js';
import { keepRetention } from '#app/projector/upkeep.js';
import { failed, succeeded } from '../contract/readModelsFixture.js';
import { type Inside, openInside } from './harness.js';

const DAY_MS = 24 * 3600 * 1000;
const daysAgo = (days: number): string => `${new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 23)}000Z`;
const waits = { idleMs: 1, betweenMs: 1 };

let inside: Inside;
beforeEach(async () => {
  inside = await openInside();
});
afterEach(() => inside.close());

/** The writer, and each of its transactions as a list of its calls. */
function watched(writer: ReadModelWriter) {
  const calls: string[] = [];
  const waiting: { readonly until: number; readonly resolve: () => void }[] = [];
  const proxy = new Proxy(writer, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return async (...given: unknown[]) => {
        const result: unknown = await method.apply(target, given);
        calls.push(name === 'dropDeliveries' ? `dropped ${result}` : String(name));
        const commits = calls.filter((call) => call === 'commit').length;
        for (const { until, resolve } of waiting) if (commits >= until) resolve();
        return result;
      };
    },
  });
  return { proxy, calls, commits: (until: number) => new Promise<void>((resolve) => waiting.push({ until, resolve })) };
}

test('what ended long ago goes in chunks, each in a transaction of its own; what ended lately stays', async () => {
  const { writer, readModels } = inside;
  await writer.begin();
  for (let n = 1; n <= 1_200; n++) {
    await writer.putDelivery(
      'acme',
      n % 2 === 0 ? succeeded(n, n, { endedAt: daysAgo(31) }) : failed(n, n, { endedAt: daysAgo(40) }),
    );
  }
  await writer.putDelivery('acme', succeeded(2_000, 1, { endedAt: daysAgo(29) }));
  await writer.commit(new Map());

  const { proxy, calls, commits } = watched(writer);
  const stopping = new AbortController();
  const enough = commits(4);
  const running = keepRetention(
    { writer: proxy, writing: new PQueue({ concurrency: 1 }), days: 30, waits },
    stopping.signal,
  );
  await enough;
  stopping.abort();
  await running;
  const transaction = (dropped: number) => ['begin', `dropped ${dropped}`, 'commit'];
  expect(calls.slice(0, 12)).toEqual([500, 500, 200, 0].flatMap(transaction));
  const left = await readModels.deliveries('acme', { webhookId: 'hook', limit: 10 });
  expect(left.map(({ position }) => position)).toEqual([2_000]);
});

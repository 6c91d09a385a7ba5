import { setTimeout as wait } from 'node:timers/promises';
import { upsertBatch } from '#app/commands/referenceTables/synchronize.js';
import type { Projection } from '#app/ports/projection.js';
import { ReadModelsWithheldError } from '#app/ports/readModels.js';
import { projections } from '#app/projector/projections.js';
import { ReadBarrier } from '#app/reading/readBarrier.js';
import { ReadGate } from '#app/reading/readGate.js';
import { type Inside, openInside, openTenant } from './harness.js';

const barrierOf = (eventStore: Inside['eventStore'], readModels: Inside['readModels']) =>
  new ReadBarrier(new ReadGate(eventStore, readModels, 60));

test('a read model whose layout a release changed is filled again, and is not read until it is complete', async () => {
  const inside = await openInside();
  await openTenant(inside, 'acme');
  const sync = (from: number) => {
    const items = Array.from({ length: 10 }, (_, n) => ({
      external_id: `p${from + n}`,
      name: 'Party',
      _batch_id: 'b',
    }));
    return upsertBatch(inside.commands, inside.caller('acme'), inside.assetType('acme', 'dyn_party'), { items });
  };
  for (let n = 0; n < 30; n++) await sync(n * 10);
  await inside.caughtUp();
  const total = async ({ eventStore, readModels }: Inside, barrier = barrierOf(eventStore, readModels)) => {
    const query = { filters: [], sort: [], offset: 0, limit: 1 };
    try {
      return (await barrier.guard(readModels).list({ tenant: 'acme', table: 'dyn_party' }, query)).total;
    } catch (error) {
      if (!(error instanceof ReadModelsWithheldError)) throw error;
      return error.message;
    }
  };
  expect(await total(inside)).toBe(300);

  let goOn = (): void => undefined;
  const halfWay = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let applied = 0;
  const newer = projections.map(
    (projection): Projection => ({
      ...projection,
      version: projection.name === 'records' ? projection.version + 1 : projection.version,
      async apply(event, tenant, target) {
        if (projection.name === 'records' && event.stream.startsWith('table-')) {
          applied += 1;
          if (applied === 15) await halfWay;
        }
        await projection.apply(event, tenant, target);
      },
    }),
  );
  const next = await openInside(inside, { projections: newer });
  const kept = barrierOf(next.eventStore, next.readModels);
  const seen = new Set<unknown>();
  while (applied < 15) {
    seen.add(await total(next, kept));
    await wait(20);
  }
  for (let n = 0; n < 20; n++) {
    seen.add(await total(next, kept));
    await wait(20);
  }
  goOn();
  while ((await total(next, kept)) !== 300) await wait(20);
  const short = [...seen].filter((each) => typeof each === 'number' && each !== 300);
  expect(short).toEqual([]);
  expect([...seen]).toContainEqual(
    expect.stringMatching(/^The read model records is being filled: it is at position \d+ of \d+\.$/),
  );
  await next.close();
  await inside.close();
});

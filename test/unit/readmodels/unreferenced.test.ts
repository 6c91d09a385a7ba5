import type { LaneDb } from '#app/adapters/readmodels/mongodb/connection.js';
import { dropUnreferenced } from '#app/adapters/readmodels/mongodb/lease.js';

const [before, copy, left] = ['a', 'b', 'c'].map((each) => `records_${each.repeat(24)}`);

/** A database whose catalog is read as given, each time. */
function database(readings: readonly (readonly string[])[]) {
  const rest = [...readings];
  const dropped: string[] = [];
  const collection = {
    distinct: async () => [],
    find: () => ({ toArray: async () => rest.shift()?.map((each) => ({ collection: each })) }),
  };
  const definitions = { find: () => ({ toArray: async () => [] }), deleteMany: async () => undefined };
  const db = {
    serverTime: async () => new Date(),
    collectionNames: async () => [before, copy, left],
    collection: (name: string) => (name === 'definitions' ? definitions : collection),
    dropCollection: async (name: string) => dropped.push(name),
  };
  return { db: db as unknown as LaneDb, dropped };
}

it('a collection that a swap takes to another entry while the catalog is read is not dropped', async () => {
  // The served entry before the swap, and the place of the copy's when it is gone.
  const { db, dropped } = database([[`${before}`], [`${copy}`]]);
  await dropUnreferenced(db);
  expect(dropped).toEqual([left]);
});

it('what neither reading names is dropped', async () => {
  const { db, dropped } = database([[`${copy}`], [`${copy}`]]);
  await dropUnreferenced(db);
  expect(dropped).toEqual([before, left]);
});

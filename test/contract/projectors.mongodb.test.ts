/** What processes agree on that project into one database. */
import { setTimeout as wait } from 'node:timers/promises';
import { openMongoProjectors } from '#app/adapters/readmodels/mongodb/projectors.js';
import { openMongoReadModels } from '#app/adapters/readmodels/mongodb/store.js';
import { openMongoReadModelWriter } from '#app/adapters/readmodels/mongodb/writer.js';
import { describeEngine } from '../engines/describeEngine.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../engines/mongodb.js';
import { at, id, insert, places } from './readModelsFixture.js';

describeEngine('mongodb', 'projectors of one MongoDB', mongoDbMissing(), () => {
  let mongoDb: AnyMongoDb;
  beforeAll(async () => {
    mongoDb = await anyMongoDb();
  }, ENGINE_START_MS);
  afterAll(() => mongoDb.dispose());

  test('agree on the number of lanes, whichever asks first', async () => {
    const url = mongoDb.freshUrl();
    const all = await Promise.all([2, 3, 4].map(() => openMongoProjectors(url)));
    const [settled, ...others] = await Promise.all(all.map((each, n) => each.settleLanes(n + 2)));
    expect([2, 3, 4]).toContain(settled);
    expect(others).toEqual([settled, settled]);
    await Promise.all(all.map((each) => each.close()));
  });

  test('go on with one lane where there are read models from before there were lanes', async () => {
    const url = mongoDb.freshUrl();
    const writer = await openMongoReadModelWriter({ url });
    await writer.begin();
    await writer.commit(new Map([['records', 1]]));
    await writer.close();
    const projectors = await openMongoProjectors(url);
    expect(await projectors.settleLanes(4)).toBe(1);
    await projectors.close();
  });

  test('see each other in the order in which they came, until they leave or give no sign of life', async () => {
    const projectors = await openMongoProjectors(mongoDb.freshUrl());
    expect(await projectors.alive()).toEqual([]);
    for (const id of ['one', 'two', 'three']) {
      await projectors.beat(id);
      await wait(5);
    }
    await projectors.beat('one');
    expect(await projectors.alive()).toEqual(['one', 'two', 'three']);
    await projectors.leave('two');
    expect(await projectors.alive()).toEqual(['one', 'three']);
    while ((await projectors.alive()).includes('three')) await projectors.beat('one');
    expect(await projectors.alive()).toEqual(['one']);
    await projectors.close();
  });

  test('write into the collections of their lane, and drop none of another', async () => {
    const url = mongoDb.freshUrl();
    const lanes = ['', 'lane1of2_', 'lane2of2_'];
    const writers = await Promise.all(lanes.map((prefix) => openMongoReadModelWriter({ url, prefix })));
    const placesOf = (n: number) => ({ tenant: `tenant-${n}`, table: places.name });
    for (const [n, writer] of writers.entries()) {
      await writer.begin();
      await writer.defineTable(placesOf(n), places);
      await writer.applyToTable(placesOf(n), [insert(n, { name: 'Delft' })], { revision: 0, at: at(0) });
      await writer.commit(new Map([['records', n + 1]]));
    }
    // Each drops what its own catalog does not name.
    for (const writer of writers) await writer.reset('deliveries');
    for (const [n, writer] of writers.entries()) {
      const readModels = await openMongoReadModels({ url, prefix: lanes[n] ?? '' });
      expect(await readModels.checkpoint('records')).toBe(n + 1);
      const found = await Promise.all(lanes.map((_, other) => readModels.get(placesOf(other), id(other))));
      expect(found.map((record) => record !== undefined)).toEqual(lanes.map((_, other) => other === n));
      await Promise.all([readModels.close(), writer.close()]);
    }
  });
});

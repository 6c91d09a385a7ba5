/** The indexes of fields that a large table gets. */

import { setTimeout as wait } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { openMongoReadModels } from '#app/adapters/readmodels/mongodb/store.js';
import { openMongoReadModelWriter } from '#app/adapters/readmodels/mongodb/writer.js';
import {
  acmePlaces,
  at,
  contains,
  fill,
  found,
  insert,
  places,
  placesWithRegion,
  write,
} from '../../contract/readModelsFixture.js';
import { describeEngine } from '../../engines/describeEngine.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../../engines/mongodb.js';
import { holdUp } from './holdUp.js';

describeEngine('mongodb', 'indexes of added fields on MongoDB', mongoDbMissing(), () => {
  let mongoDb: AnyMongoDb;
  beforeAll(async () => {
    mongoDb = await anyMongoDb();
  }, ENGINE_START_MS);
  afterAll(async () => {
    jest.restoreAllMocks();
    await mongoDb.dispose();
  });

  test('are built beside the commits, and until then the field is filtered and sorted by as exactly', async () => {
    const url = mongoDb.freshUrl();
    const client = await MongoClient.connect(url);
    const catalog = client.db().collection('catalog');
    const readModels = await openMongoReadModels({ url });
    const writer = await openMongoReadModelWriter({ url, smallRows: 0 });
    const entry = () => catalog.findOne({ kind: 'records', rebuild: null });
    const indexes = async () => {
      const collection = client.db().collection((await entry())?.collection);
      return (await collection.indexes()).map(({ name }) => name);
    };
    const apply = (n: number, region: string) =>
      write(writer, async () => {
        await writer.defineTable(acmePlaces, placesWithRegion);
        await writer.applyToTable(acmePlaces, [insert(n, { region })], { revision: n + 4, at: at(n + 4) });
      });
    await fill(writer, [insert(1, { name: 'Ghent' })]);
    const field = `f${places.fields.length}`;

    const building = holdUp('createIndexes');
    await apply(2, 'South');
    expect(building.calls()).toBe(0);
    await writer.mergeIndexes();
    await building.called();
    // A commit does not wait for it.
    await apply(3, 'North');
    expect(await found(readModels, { filters: [contains('region', 'out')] })).toEqual({ records: ['C2'], total: 1 });
    const sorted = await found(readModels, { sort: [{ field: 'region', direction: 'desc' }] });
    expect(sorted.records).toEqual(['C2', 'C3', 'C1']);
    expect(await indexes()).not.toContain(field);
    const copy = await writer.beginRebuild({ projection: 'records' });
    const { differences } = await copy.proof.structure(acmePlaces, { subject: 'live' });
    expect(differences.filter(({ detail }) => detail.includes('index'))).toEqual([]);
    await copy.abandon();

    building.goOn();
    while ((await entry())?.indexing !== false) await wait(5);
    expect(await indexes()).toContain(field);
    await Promise.all([writer.close(), readModels.close(), client.close()]);
  });
});

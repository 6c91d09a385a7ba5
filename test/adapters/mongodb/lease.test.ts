/** The lease of the process that may write, while it is taken. */

import { setTimeout as wait } from 'node:timers/promises';
import { Collection, MongoClient, ObjectId } from 'mongodb';
import { MongoConnection } from '#app/adapters/readmodels/mongodb/connection.js';
import { Lease } from '#app/adapters/readmodels/mongodb/lease.js';
import { openMongoReadModelWriter } from '#app/adapters/readmodels/mongodb/writer.js';
import { acmePlaces, at, fill, insert, write } from '../../contract/readModelsFixture.js';
import { describeEngine } from '../../engines/describeEngine.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../../engines/mongodb.js';
import { holdUp } from './holdUp.js';

describeEngine('mongodb', 'the lease on MongoDB', mongoDbMissing(), () => {
  let mongoDb: AnyMongoDb;
  let url: string;
  let connection: MongoConnection;
  beforeAll(async () => {
    mongoDb = await anyMongoDb();
  }, ENGINE_START_MS);
  afterAll(() => mongoDb.dispose());
  beforeEach(() => {
    url = mongoDb.freshUrl();
    connection = new MongoConnection({ url, socketTimeoutMs: 60_000 });
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await connection.close();
  });

  const acquire = (lease: Lease) => connection.run((db) => lease.acquire(db));
  const release = (lease: Lease) => connection.run((db) => lease.release(db));

  test('is renewed while its new holder fences off the one before, however long that takes', async () => {
    const client = await MongoClient.connect(url);
    const renewedAt = async () => Number((await client.db().collection('leases').findOne({}))?.renewedAt);
    const fencing = holdUp('updateMany');
    const lease = new Lease(connection, 'projector', 400);
    const acquired = acquire(lease);
    await fencing.called();
    const first = await renewedAt();
    while ((await renewedAt()) === first) await wait(10);
    fencing.goOn();
    expect(await acquired).toBe(1);
    await release(lease);
    await client.close();
  });

  test('that a rebuild takes while a projector takes it as well is waited for', async () => {
    const [projector, rebuild] = (['projector', 'rebuild'] as const).map((mode) => new Lease(connection, mode, 60_000));
    if (projector === undefined || rebuild === undefined) throw new Error('There are two.');
    const fencing = holdUp('updateOne');
    const acquired = acquire(projector);
    await fencing.called();
    expect(await acquire(rebuild)).toBe(2);
    fencing.goOn();
    await release(rebuild);
    expect(await acquired).toBe(3);
    await release(projector);
  });

  test('is taken without asset types being written; those that no table has are removed after an hour', async () => {
    const writer = await openMongoReadModelWriter({ url, owner: 'one' });
    await fill(writer, [insert(1, {})]);
    const client = await MongoClient.connect(url);
    type Named = { readonly _id: string };
    const catalog = client.db().collection<Named>('catalog');
    const definitions = client.db().collection<Named>('definitions');
    const { _id: _, ...definition } = (await definitions.findOne({})) ?? { _id: '' };
    const old = ['one of 1970', 'another one'].map((_, n) => ObjectId.createFromTime(n).toHexString());
    await definitions.insertMany(old.map((_id) => ({ _id, ...definition })));
    const [used] = old;
    await catalog.updateMany({ kind: 'records' }, { $set: { definition: used } });
    const next = await openMongoReadModelWriter({ url, owner: 'one' });
    await write(next, () => next.applyToTable(acmePlaces, [insert(2, {})], { revision: 5, at: at(5) }));
    expect(await catalog.distinct('fence')).toEqual([2]);
    expect(await catalog.distinct('assetType')).toEqual([]);
    // The third was made just now.
    expect(await definitions.distinct('_id')).toEqual([used, expect.any(String)]);
    expect(old).not.toContain((await definitions.distinct('_id')).at(1));
    await Promise.all([writer, next, client].map((each) => each.close()));
  });

  test('is taken by a rebuild between two commits, which need not be written again', async () => {
    const writer = await openMongoReadModelWriter({ url, leaseMs: 60_000 });
    await fill(writer, [insert(1, {})]);
    const client = await MongoClient.connect(url);
    const part = () =>
      client
        .db()
        .collection('catalog')
        .findOne({ rebuild: null }, { projection: { of: 1 } });
    const before = await part();
    const announcement = holdUp('bulkWrite');
    const change = [insert(2, {})];
    const written = write(writer, () => writer.applyToTable(acmePlaces, change, { revision: 6, at: at(6) }), {
      records: 8,
    });
    await announcement.called();
    const reads = jest.spyOn(Collection.prototype, 'findOne');
    const ofState = () => reads.mock.contexts.filter((collection) => collection.collectionName === 'state').length;
    const rebuild = await writer.beginRebuild({ projection: 'records' });
    let isHeld = false;
    const held = rebuild.holdLive().finally(() => {
      isHeld = true;
    });
    while (ofState() < 2 && !isHeld) await wait(5);
    announcement.goOn();
    await written;
    expect(await held).toBe(8);
    // What an interrupted commit was writing is moved to another part.
    expect(await part()).toEqual(before);
    await rebuild.abandon();
    await Promise.all([writer, client].map((each) => each.close()));
  });
});

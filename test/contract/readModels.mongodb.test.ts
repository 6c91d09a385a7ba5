import { setTimeout as wait } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { openMongoReadModels } from '#app/adapters/readmodels/mongodb/store.js';
import { openMongoReadModelWriter } from '#app/adapters/readmodels/mongodb/writer.js';
import { ReadModelsUnavailableError } from '#app/ports/readModels.js';
import { MismatchError, ProjectorLeaseHeldError, type ReadModelWriter } from '#app/ports/readModelWriter.js';
import { describeEngine } from '../engines/describeEngine.js';
import { freePort } from '../engines/freePort.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../engines/mongodb.js';
import { describeReadModels } from './readModels.js';
import {
  acmePlaces,
  activityEntry,
  at,
  delivery,
  failed,
  fill,
  found,
  historyEntry,
  id,
  insert,
  write,
} from './readModelsFixture.js';
import { grown } from './readModelsLayouts.js';

describeEngine('mongodb', 'the read-model contract on MongoDB', mongoDbMissing(), () => {
  let mongoDb: AnyMongoDb;
  beforeAll(async () => {
    mongoDb = await anyMongoDb();
  }, ENGINE_START_MS);
  afterAll(() => mongoDb.dispose());

  describeReadModels('MongoDB', async () => {
    const url = mongoDb.freshUrl();
    return {
      readModels: await openMongoReadModels({ url }),
      writer: await openMongoReadModelWriter({ url }),
      anotherWriter: () => openMongoReadModelWriter({ url }),
      // Beyond the size of a document.
      refusedNotes: () => 'x'.repeat(17_000_000),
    };
  });

  test('one process projects; another stands by, and goes on as soon as the first gives up', async () => {
    const url = mongoDb.freshUrl();
    const leaseMs = 100;
    const [first, second] = await Promise.all([
      openMongoReadModelWriter({ url, leaseMs }),
      openMongoReadModelWriter({ url, leaseMs }),
    ]);
    await fill(first, [insert(1, {})]);
    await expect(second.begin()).rejects.toThrow(ProjectorLeaseHeldError);
    // An idle one keeps its lease.
    await wait(3 * leaseMs);
    await expect(second.begin()).rejects.toThrow(ProjectorLeaseHeldError);
    await first.close();
    await write(second, () => second.applyToTable(acmePlaces, [insert(2, {})], { revision: 5, at: at(5) }));

    const readModels = await openMongoReadModels({ url });
    expect(await found(readModels, {})).toEqual({ records: ['C1', 'C2'], total: 2 });
    await readModels.close();
    await second.close();
  });

  test('the next writer of one owner need not wait for the lease of the one before', async () => {
    const url = mongoDb.freshUrl();
    const [lost, next, other] = await Promise.all(
      ['projector', 'projector', 'another'].map((owner) => openMongoReadModelWriter({ url, owner })),
    );
    if (lost === undefined || next === undefined || other === undefined) throw new Error('There are three.');
    await fill(lost, [insert(1, {})]);
    await write(next, () => next.applyToTable(acmePlaces, [insert(2, {})], { revision: 5, at: at(5) }));
    await expect(other.begin()).rejects.toThrow(ProjectorLeaseHeldError);

    const readModels = await openMongoReadModels({ url });
    expect(await found(readModels, {})).toEqual({ records: ['C1', 'C2'], total: 2 });
    await Promise.all([readModels, next, other, lost].map((each) => each.close()));
  });

  test('a database of a release with asset types in the catalog, and no layouts, is read and takes fields in the middle', async () => {
    const url = mongoDb.freshUrl();
    const earlier = await openMongoReadModelWriter({ url });
    await fill(earlier, [insert(1, { name: 'Ghent', notes: 'kept' })]);
    await earlier.close();
    const client = await MongoClient.connect(url);
    const [catalog, definitions] = [client.db().collection('catalog'), client.db().collection('definitions')];
    const definition = await definitions.findOne({});
    const ofTables = { kind: 'records' };
    await catalog.updateMany(ofTables, { $set: { assetType: definition?.assetType }, $unset: { definition: '' } });
    await definitions.deleteMany({});

    const writer = await openMongoReadModelWriter({ url });
    const readModels = await openMongoReadModels({ url });
    const shown = async () => JSON.parse((await readModels.get(acmePlaces, id(1))) ?? '');
    expect(await shown()).toMatchObject({ name: 'Ghent', notes: 'kept' });
    expect(await writer.outdatedTables('acme')).toEqual([]);
    await write(writer, () => writer.defineTable(acmePlaces, grown));
    await write(writer, () => writer.applyToTable(acmePlaces, [insert(2, { kind: 'x' })], { revision: 5, at: at(5) }));
    expect(await shown()).toMatchObject({ name: 'Ghent', notes: 'kept', kind: null });
    const sort = [{ field: 'kind', direction: 'desc' }] as const;
    expect((await found(readModels, { sort })).records).toEqual(['C2', 'C1']);
    expect(await catalog.distinct('assetType', ofTables)).toEqual([]);
    await Promise.all([readModels, writer, client].map((each) => each.close()));
  });

  test.each([
    [
      { projection: 'order_history', position: 12 },
      (writer: ReadModelWriter, details: string) =>
        writer.addHistory('acme', id(1), [historyEntry(0), historyEntry(2, { reasons: [details] })]),
    ],
    [
      { projection: 'deliveries' },
      async (writer: ReadModelWriter, details: string) => {
        await writer.putDelivery('acme', delivery(1));
        await writer.putDelivery('acme', failed(2, 3, { reason: details }));
      },
    ],
    [
      { projection: 'activity', position: 2 },
      (writer: ReadModelWriter, details: string) =>
        writer.addActivity('acme', [activityEntry(1), activityEntry(2, { details: { details } })]),
    ],
  ])(
    'an entry of %j that the server refuses is of its tenant, as a record is, and others are stored',
    async (part, add) => {
      const url = mongoDb.freshUrl();
      const writer = await openMongoReadModelWriter({ url });
      const refused = write(writer, () => add(writer, 'x'.repeat(17_000_000)));
      await expect(refused).rejects.toThrow(MismatchError);
      await expect(refused).rejects.toMatchObject({ mismatch: { tenant: 'acme', ...part } });
      await expect(refused).rejects.toThrow(/cannot store the entry /);
      await writer.rollback();
      await write(writer, () => add(writer, 'short'));
      await writer.close();
    },
  );

  test('both sides open while the server is away, and say so when they are used', async () => {
    const url = `mongodb://127.0.0.1:${await freePort()}/`;
    const readModels = await openMongoReadModels({ url });
    const writer = await openMongoReadModelWriter({ url });
    await expect(readModels.get(acmePlaces, id(1))).rejects.toThrow(ReadModelsUnavailableError);
    await expect(readModels.waitFor('records', 1, 60_000)).rejects.toThrow(ReadModelsUnavailableError);
    await expect(writer.begin()).rejects.toThrow(ReadModelsUnavailableError);
    await readModels.close();
    await writer.close();
  });
});

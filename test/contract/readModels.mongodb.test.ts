import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { openMongoReadModels } from '#app/adapters/readmodels/mongodb/store.js';
import { openMongoReadModelWriter } from '#app/adapters/readmodels/mongodb/writer.js';
import { ReadModelsUnavailableError } from '#app/ports/readModels.js';
import { ProjectorLeaseHeldError } from '#app/ports/readModelWriter.js';
import { describeEngine } from '../engines/describeEngine.js';
import { freePort } from '../engines/freePort.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../engines/mongodb.js';
import { TransactionsDouble } from '../engines/transactionsDouble.js';
import { describeReadModels } from './readModels.js';
import { acmePlaces, at, fill, found, historyEntry, id, insert, write } from './readModelsFixture.js';

describeEngine('mongodb', 'the read-model contract on MongoDB', mongoDbMissing(), () => {
  let mongoDb: AnyMongoDb;
  beforeAll(async () => {
    mongoDb = await anyMongoDb();
  }, ENGINE_START_MS);
  afterAll(() => mongoDb.dispose());

  // Also where the server would not use their index: what they find must be the same.
  describe.each([
    ['with n-grams', true],
    ['without n-grams', false],
  ])('%s', (name, grams) => {
    describeReadModels(`MongoDB ${name}`, async () => {
      const url = mongoDb.freshUrl();
      return {
        readModels: await openMongoReadModels({ url }),
        writer: await openMongoReadModelWriter({ url, grams }),
        anotherWriter: () => openMongoReadModelWriter({ url, grams }),
        hasTransactions: true,
      };
    });
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

  describe('where the server has transactions', () => {
    let double: TransactionsDouble;
    beforeAll(async () => {
      double = await TransactionsDouble.start(mongoDb.freshUrl());
    });
    afterAll(() => double.stop());

    describeReadModels('MongoDB with transactions', async () => {
      const url = `${double.url.replace(/\/[^/?]*(\?.*)?$/, '')}/test_${randomUUID()}?directConnection=true`;
      return {
        readModels: await openMongoReadModels({ url }),
        writer: await openMongoReadModelWriter({ url }),
        anotherWriter: () => openMongoReadModelWriter({ url }),
        hasTransactions: true,
      };
    });

    test('a slice is one of them: records, histories, catalog and checkpoints', async () => {
      const writer = await openMongoReadModelWriter({ url: double.url });
      await fill(writer, [insert(1, {}), insert(2, {}, 'b')]);
      await writer.begin();
      await writer.applyToTable(
        acmePlaces,
        [insert(3, {}), { kind: 'patch', id: id(1), at: at(9), set: { name: 'New' } }, { kind: 'sweep', batchId: 'b' }],
        { revision: 5, at: at(5) },
      );
      await writer.addHistory('acme', id(1), [historyEntry(0)]);
      double.commands.length = 0;
      await writer.commit(new Map([['records', 7]]));
      await writer.close();

      const start = double.commands.findIndex(({ starts }) => starts);
      const end = double.commands.findIndex(({ name }) => name === 'commitTransaction');
      const inside = double.commands.slice(start, end);
      expect(new Set(inside.map(({ transaction }) => transaction)).size).toBe(1);
      expect(inside[0]?.transaction).toBeDefined();
      const written = inside
        .filter(({ name }) => name !== 'find')
        .map(({ name, collection }) => `${name} ${collection}`);
      expect(written.map((command) => command.replace(/_[0-9a-f]{24}$/, ''))).toEqual([
        'insert records',
        'update records',
        'delete records',
        'update catalog',
        'update history',
        'update state',
      ]);
    });
  });
});

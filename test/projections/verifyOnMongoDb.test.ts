/** The proof on MongoDB while the service projects: there is no snapshot of both sides, so what differs is looked at again. */

import { setTimeout as wait } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { createRecord, updateRecord } from '#app/commands/records.js';
import { upsertBatch } from '#app/commands/referenceTables/synchronize.js';
import { rebuildProjection } from '#app/rebuild/rebuild.js';
import { verifyProjection } from '#app/rebuild/verify.js';
import { describeEngine } from '../engines/describeEngine.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../engines/mongodb.js';
import { type Inside, openInside, openTenant } from './harness.js';

describeEngine('mongodb', 'the proof beside a running service on MongoDB', mongoDbMissing(), () => {
  let mongoDb: AnyMongoDb;
  let url: string;
  let inside: Inside;
  beforeAll(async () => {
    mongoDb = await anyMongoDb();
  }, ENGINE_START_MS);
  afterAll(() => mongoDb.dispose());
  beforeEach(async () => {
    url = mongoDb.freshUrl();
    inside = await openInside(undefined, { env: { MONGODB_URL: url } });
    await openTenant(inside, 'acme');
  });
  afterEach(() => inside.close());

  const sync = (from: number, count: number, name: string) =>
    upsertBatch(inside.commands, inside.caller('acme'), inside.assetType('acme', 'dyn_party'), {
      items: Array.from({ length: count }, (_, n) => ({ external_id: `p${from + n}`, name: `${name} ${from + n}` })),
    });

  it('nothing differs while records are made and changed; what was damaged is found', async () => {
    await sync(0, 100, 'Party');
    await inside.caughtUp();
    let verifying = true;
    const write = async (): Promise<void> => {
      for (let round = 0; verifying; round++) {
        await sync((round * 10) % 60, 20, `Round ${round}`);
        const order = inside.assetType('acme', 'dyn_stock_order');
        const { id } = await createRecord(inside.commands, inside.caller('acme'), order, { notes: 'first' });
        await updateRecord(inside.commands, inside.caller('acme'), order, id, { notes: 'second' });
        await wait(50);
      }
    };
    const writing = write();
    try {
      const deps = { ...inside, deliveryLogDays: 30 };
      for (const projection of ['records', 'order_history', 'deliveries'] as const) {
        expect(await verifyProjection(deps, { projection })).toMatchObject({ differences: [], more: 0 });
      }
      const client = await MongoClient.connect(url);
      const db = client.db(new URL(url).pathname.slice(1));
      const entry = await db.collection('catalog').findOne({ table: 'dyn_party', rebuild: null });
      const records = db.collection(entry?.collection);
      const damaged = await records.findOne({ d: /"Party 90"/ });
      const [key = ''] = Object.entries(damaged ?? {}).find(([, value]) => value === 'party 90') ?? [];
      await records.updateOne({ d: /"Party 90"/ }, { $set: { [key]: 'other' } });
      await client.close();
      const scope = { projection: 'records', tenant: 'acme', table: 'dyn_party' } as const;
      const { differences } = await verifyProjection(deps, scope);
      expect(differences).toMatchObject([
        { record: damaged?._id, kind: 'different', detail: expect.stringContaining(`do not fit the record: ${key}`) },
      ]);
      await rebuildProjection(inside, scope);
      expect(await verifyProjection(deps, scope)).toMatchObject({ differences: [], more: 0 });
    } finally {
      verifying = false;
      await writing;
    }
  });
});

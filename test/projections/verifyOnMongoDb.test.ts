/** The proof on MongoDB while the service projects: there is no snapshot of both sides, so what differs is looked at again. */

import { MongoClient } from 'mongodb';
import { Part } from '#app/adapters/readmodels/mongodb/part.js';
import type { RecordDocument } from '#app/adapters/readmodels/mongodb/recordDocument.js';
import { openMongoReadModels } from '#app/adapters/readmodels/mongodb/store.js';
import { openMongoReadModelWriter } from '#app/adapters/readmodels/mongodb/writer.js';
import { createRecord, updateRecord } from '#app/commands/records.js';
import { upsertBatch } from '#app/commands/referenceTables/synchronize.js';
import { ReadModelsUnavailableError } from '#app/ports/readModels.js';
import type { ReadModelRebuild, ReadModelWriter, RebuildableReadModels } from '#app/ports/readModelWriter.js';
import { projections } from '#app/projector/projections.js';
import { runProjections } from '#app/projector/runner.js';
import { rebuildProjection } from '#app/rebuild/rebuild.js';
import { verifyProjection } from '#app/rebuild/verify.js';
import { describeEngine } from '../engines/describeEngine.js';
import { MongoDbProxy } from '../engines/mongoDbProxy.js';
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
        await inside.caughtUp();
      }
    };
    const writing = write();
    try {
      const deps = { ...inside, deliveryLogDays: 30 };
      for (const projection of ['records', 'order_history', 'deliveries', 'activity'] as const) {
        expect(await verifyProjection(deps, { projection })).toMatchObject({ differences: [], more: 0 });
      }
      const client = await MongoClient.connect(url);
      const db = client.db(new URL(url).pathname.slice(1));
      const entry = await db.collection('catalog').findOne({ table: 'dyn_party', rebuild: null });
      const records = new Part<RecordDocument>(db.collection(entry?.collection), entry?.of);
      const damaged = await records.findOne({ d: /"Party 90"/ });
      const [key = ''] = Object.entries(damaged ?? {}).find(([, value]) => value === 'party 90') ?? [];
      await records.updateMany({ d: /"Party 90"/ }, { $set: { [key]: 'other' } });
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

  it('a commit that was left half-way is no difference: a projector ends it first, or nothing is said of its table', async () => {
    const other = mongoDb.freshUrl();
    const proxy = await MongoDbProxy.start(other);
    const { eventStore } = inside;
    const open = (through: string) => openMongoReadModelWriter({ url: through, leaseMs: 300 });
    const cutOff = await open(proxy.through(other));
    const writer = await open(other);
    const next = await open(other);
    const readModels = await openMongoReadModels({ url: other });
    const stopping = new AbortController();
    const run = (through: ReadModelWriter) =>
      runProjections({ eventStore, writer: through, projections }, stopping.signal);

    await sync(0, 10, 'Party');
    const running = run(cutOff).catch((error: unknown) => error);
    await readModels.waitFor('records', await eventStore.head(), 10_000);
    let isWritten = false;
    proxy.cutBefore((command) => {
      isWritten ||= command.insert === 'small_records';
      return isWritten && command.update === 'catalog';
    });
    await sync(10, 10, 'Party');
    expect(await running).toBeInstanceOf(ReadModelsUnavailableError);

    const verified = (deps: { readonly writer: Writer; readonly interruptedCommitMs?: number }) =>
      verifyProjection({ eventStore, deliveryLogDays: 30, ...deps }, { projection: 'records' });
    const { differences } = await verified({ writer, interruptedCommitMs: 0 });
    expect(
      new Set(differences.map(({ table, record, detail }) => `${table} ${record} ${detail.slice(0, 20)}`)),
    ).toEqual(new Set(['dyn_party null It was not compared:']));

    let runningNext: Promise<void> | undefined;
    const onRelease = () => {
      runningNext ??= run(next);
    };
    expect(await verified({ writer: releasing(writer, onRelease) })).toMatchObject({ differences: [], more: 0 });
    expect(runningNext).toBeDefined();
    stopping.abort();
    await runningNext;
    await Promise.all([cutOff, writer, next, readModels].map((each) => each.close()));
    await proxy.stop();
  });
});

type Writer = ReadModelWriter & RebuildableReadModels;

/** The writer; calls back when one of its rebuilds lets the live projection go on. */
function releasing(writer: Writer, onRelease: () => void): Writer {
  const bound = <Target extends object>(target: Target, instead: Partial<Target>): Target =>
    new Proxy(target, {
      get(_, name) {
        const value: unknown = Reflect.get(name in instead ? instead : target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  const watched = (copy: ReadModelRebuild) =>
    bound(copy, {
      async release(position) {
        await copy.release(position);
        onRelease();
      },
    });
  return bound(writer, { beginRebuild: async (scope) => watched(await writer.beginRebuild(scope)) });
}

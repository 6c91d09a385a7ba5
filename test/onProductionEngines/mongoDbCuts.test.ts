/**
 * A commit to MongoDB ends behind each of its commands in turn: the server has carried that out, and nobody hears of it. The
 * next writer goes on from the checkpoint, and then what is there equals a fold of all events. (mongoDbKill ends processes at
 * random moments, and has writers whose commands come late.)
 */
import { openMongoReadModels } from '#app/adapters/readmodels/mongodb/store.js';
import { openMongoReadModelWriter } from '#app/adapters/readmodels/mongodb/writer.js';
import { ReadModelsUnavailableError } from '#app/ports/readModels.js';
import type { ReadModelWriter } from '#app/ports/readModelWriter.js';
import { activityEntry } from '../contract/readModelsFixture.js';
import { describeEngine } from '../engines/describeEngine.js';
import { MongoDbProxy } from '../engines/mongoDbProxy.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../engines/mongodb.js';
import { scaled } from '../engines/timeScale.js';
import { expectProjected, ProjectedLog } from '../faults/projectedLog.js';

/** Events of the commits before, and of the one that is cut. Some of its tables outgrow what small ones share. */
const BEFORE = 20;
const CUT = 30;
const SMALL_ROWS = 15;
/** Each cut waits two seconds for the server to come back. */
const CUTS_AT_ONCE = 8;

describeEngine('mongodb', 'a commit to MongoDB', mongoDbMissing(), () => {
  let mongoDb: AnyMongoDb;
  beforeAll(async () => {
    mongoDb = await anyMongoDb();
  }, ENGINE_START_MS);
  afterAll(() => mongoDb.dispose());

  /** @returns whether the commit sent at least this many commands */
  async function isCut(log: ProjectedLog, commands: number): Promise<boolean> {
    const url = mongoDb.freshUrl();
    const proxy = await MongoDbProxy.start(url);
    // One owner: nobody waits for the lease of the one that was cut off.
    const open = (through: string) =>
      openMongoReadModelWriter({ url: through, owner: 'one', leaseMs: 600_000, smallRows: SMALL_ROWS });
    const cutOff = await open(proxy.through(url));
    await project(cutOff, log, BEFORE / 2);
    await project(cutOff, log, BEFORE);
    await cutOff.begin();
    await apply(cutOff, log, BEFORE + CUT);
    proxy.cutAfter(commands);
    const committed = cutOff.commit(new Map([['records', BEFORE + CUT]]));
    const outcome = await committed.catch((error: unknown) => error);
    const { isCut } = proxy;
    if (isCut) expect(outcome).toBeInstanceOf(ReadModelsUnavailableError);
    else expect(outcome).toBeUndefined();
    await proxy.stop();
    await cutOff.close();

    const next = await open(url);
    await project(next, log, log.events.length);
    const readModels = await openMongoReadModels({ url });
    await expectProjected(readModels, log);
    const { entries } = await readModels.activity('acme', { filters: {}, limit: 1_000 });
    expect(entries.map(({ position }) => position)).toEqual(log.events.map((_, n) => log.events.length - 1 - n));
    await Promise.all([next.close(), readModels.close()]);
    return isCut;
  }

  test(
    'is completed by the next writer, behind whichever of its commands it ends',
    async () => {
      const log = new ProjectedLog(BEFORE + CUT + 5);
      let cuts = 0;
      for (let areAllCut = true; areAllCut; ) {
        const some = Array.from({ length: CUTS_AT_ONCE }, (_, n) => isCut(log, cuts + n + 1));
        const cut = (await Promise.all(some)).filter(Boolean);
        cuts += cut.length;
        areAllCut = cut.length === CUTS_AT_ONCE;
      }
      expect(cuts).toBeGreaterThan(8);
    },
    scaled(120_000),
  );
});

async function project(writer: ReadModelWriter, log: ProjectedLog, to: number): Promise<void> {
  await writer.begin();
  await apply(writer, log, to);
  await writer.commit(new Map([['records', to]]));
}

async function apply(writer: ReadModelWriter, { events, assetTypes }: ProjectedLog, to: number): Promise<void> {
  const from = await writer.checkpoint('records');
  for (const [n, event] of events.slice(from, to).entries()) {
    const { table, define, changes, revision, at, history, delivery } = event;
    const ref = { tenant: 'acme', table };
    if (define !== undefined) await writer.defineTable(ref, assetTypes[define]);
    if (changes !== undefined) await writer.applyToTable(ref, changes, { revision, at });
    const shown = delivery && (await writer.delivery('acme', delivery.id));
    if (delivery && (shown?.revision ?? -1) < delivery.revision) await writer.putDelivery('acme', delivery);
    if (history !== undefined) await writer.addHistory('acme', history.orderId, [history.entry]);
    await writer.addActivity('acme', [activityEntry(from + n)]);
  }
}

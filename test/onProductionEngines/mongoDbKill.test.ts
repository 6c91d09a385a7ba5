/**
 * The projector is killed (SIGKILL), or stands still (SIGSTOP) until another has taken over, again and again while
 * it writes to MongoDB. What is there at the end equals a fold of all events. `KILLS=100 npx jest mongoDbKill`
 * does more.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { openMongoReadModels } from '#app/adapters/readmodels/mongodb/store.js';
import { describeEngine } from '../engines/describeEngine.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../engines/mongodb.js';
import { scaled } from '../engines/timeScale.js';
import { expectProjected, ProjectedLog, pick } from '../faults/projectedLog.js';

const KILLS = Number(process.env.KILLS ?? 10);
const STANDSTILLS = Math.ceil(KILLS / 2);
type Projector = ChildProcessByStdio<null, Readable, Readable>;
const LEASE_MS = 300;
/** Of a projector that nobody disturbs: a busy machine may hold it up for longer than the others' lease. */
const LONG_LEASE_MS = 30_000;
const EVENTS_A_ROUND = 40;
const PROJECTOR = resolve('test/onProductionEngines/mongoDbProjector.mjs');

describeEngine('mongodb', 'a projector that writes to MongoDB', mongoDbMissing(), () => {
  let mongoDb: AnyMongoDb;
  let directory: string;
  beforeAll(async () => {
    mongoDb = await anyMongoDb();
    directory = await mkdtemp(join(tmpdir(), 'mongodb-kill-'));
  }, ENGINE_START_MS);
  afterAll(async () => {
    await mongoDb.dispose();
    await rm(directory, { recursive: true });
  });

  async function project(rounds: number, disturb: (start: () => Promise<Projector>) => Promise<void>) {
    const url = mongoDb.freshUrl();
    const log = new ProjectedLog(rounds * EVENTS_A_ROUND);
    const file = join(directory, `${rounds}.json`);
    await writeFile(file, JSON.stringify({ assetTypes: log.assetTypes, events: log.events }));
    const start = async (leaseMs = LEASE_MS): Promise<Projector> => {
      const args = [PROJECTOR, url, file, String(leaseMs)];
      const child: Projector = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
      await once(child.stdout, 'data');
      return child;
    };
    for (let round = 0; round < rounds; round++) await disturb(start);
    expect(await ended(start)).toEqual({ code: 0, said: '' });
    const readModels = await openMongoReadModels({ url });
    await expectProjected(readModels, log);
    await readModels.close();
  }

  test(
    'and is killed leaves what another can go on with',
    () =>
      project(KILLS, async (start) => {
        const projector = await start();
        await wait(LEASE_MS + pick(500));
        await kill(projector);
      }),
    scaled(60_000 + KILLS * 10_000),
  );

  test(
    'and stands still for a while does no harm to what the one that took over has written',
    () =>
      project(STANDSTILLS, async (start) => {
        const first = await start();
        await wait(LEASE_MS + pick(300));
        first.kill('SIGSTOP');
        const second = await start();
        await wait(2 * LEASE_MS + pick(300));
        first.kill('SIGCONT');
        await wait(LEASE_MS);
        await Promise.all([first, second].map(kill));
      }),
    scaled(60_000 + STANDSTILLS * 10_000),
  );
});

/** A projector that nobody disturbs works to the end. */
async function ended(start: (leaseMs: number) => Promise<Projector>) {
  for (;;) {
    const last = await start(LONG_LEASE_MS);
    const [said, [code]] = await Promise.all([text(last.stderr), once(last, 'exit')]);
    // The server may still do what a killed one had sent. One that this hinders begins again, as the service does.
    if (!said.includes('LeaseLostError')) return { code, said };
  }
}

async function kill(child: Projector): Promise<void> {
  // One that lost the lease in the middle has ended by itself.
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

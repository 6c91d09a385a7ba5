/** The agreement of processes that share a database: the number of lanes, and which processes project. */
import type { Collection } from 'mongodb';
import type { Projectors } from '../../../ports/projectors.js';
import { insertOnce, readState } from './catalog.js';
import type { LaneDb } from './connection.js';
import { MongoConnection } from './connection.js';

type LanesDocument = { readonly _id: string; readonly count: number };

type ProjectorDocument = {
  readonly _id: string;
  /** By the server's clock. */
  readonly joinedAt: Date;
  readonly seenAt: Date;
};

/** Shorter than a lease lasts: when the lease of a dead process expires, others wait for it already. */
const GONE_AFTER_MS = 3_000;
const FORGOTTEN_AFTER_MS = 60_000;
const TIMEOUT_MS = 5_000;

const lanesOf = (db: LaneDb): Collection<LanesDocument> => db.collection<LanesDocument>('lanes');
const projectorsOf = (db: LaneDb): Collection<ProjectorDocument> => db.collection<ProjectorDocument>('projectors');

/** The server need not be reachable: each use connects when needed. */
export async function openMongoProjectors(url: string): Promise<Projectors> {
  const connection = new MongoConnection({ url, socketTimeoutMs: TIMEOUT_MS });
  return {
    settleLanes: (wanted) => connection.run((db) => settle(db, wanted)),
    beat: (id) => connection.run((db) => beat(db, id)),
    leave: (id) =>
      connection.run(async (db) => {
        await projectorsOf(db).deleteOne({ _id: id });
      }),
    alive: () => connection.run(alive),
    close: () => connection.close(),
  };
}

/** Read models from before there were lanes have one. */
async function settle(db: LaneDb, wanted: number): Promise<number> {
  const settled = async () => (await lanesOf(db).findOne({ _id: 'lanes' }))?.count;
  const known = await settled();
  if (known !== undefined) return known;
  const count = (await readState(db)) === undefined ? wanted : 1;
  await insertOnce(lanesOf(db), { _id: 'lanes', count });
  return (await settled()) ?? count;
}

async function beat(db: LaneDb, _id: string): Promise<void> {
  const now = await db.serverTime();
  const { upsertedCount } = await projectorsOf(db).updateOne(
    { _id },
    { $set: { seenAt: now }, $setOnInsert: { joinedAt: now } },
    { upsert: true },
  );
  if (upsertedCount > 0) await projectorsOf(db).deleteMany({ seenAt: { $lt: before(now, FORGOTTEN_AFTER_MS) } });
}

async function alive(db: LaneDb): Promise<readonly string[]> {
  const since = before(await db.serverTime(), GONE_AFTER_MS);
  const found = await projectorsOf(db)
    .find({ seenAt: { $gt: since } })
    .sort({ joinedAt: 1, _id: 1 })
    .toArray();
  return found.map(({ _id }) => _id);
}

const before = (now: Date, milliseconds: number): Date => new Date(now.getTime() - milliseconds);

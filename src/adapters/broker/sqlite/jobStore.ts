/** The jobs of all queues in one SQLite file. Every change is one short transaction. */
import type { LogAnchor } from '../../../ports/logAnchor.js';
import type { Message, Outcome, QueueDepth, ReceivedMessage } from '../../../ports/messageBroker.js';
import { type Database, openSqlite, type Statement } from '../../openSqlite.js';

/**
 * `due_at` (ms since the epoch) is when a job may be delivered. Taking a job moves it to the end of the lease, so a job
 * whose consumer died becomes due by itself. `deliveries` grows each time a job is taken. `seq` and `deliveries`
 * together name that delivery, so an outcome of an earlier one no longer matches.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS jobs (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    queue TEXT NOT NULL,
    id TEXT NOT NULL,
    body TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    taken INTEGER NOT NULL DEFAULT 0,
    deliveries INTEGER NOT NULL DEFAULT 0,
    UNIQUE (queue, id)
  ) STRICT;
  DROP INDEX IF EXISTS jobs_due; -- of earlier releases
  DROP INDEX IF EXISTS jobs_dead;
  CREATE INDEX IF NOT EXISTS jobs_by_due ON jobs (queue, due_at, taken);
  CREATE TABLE IF NOT EXISTS checkpoints (
    name TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    log TEXT,
    event_id TEXT
  ) STRICT, WITHOUT ROWID;
`;

/** Longer than any wait of a delivery by default. */
const LONGEST_DELAY_MS = 5_400_000;

/** One delivery of a job. */
export type TakenJob = { readonly seq: number; readonly deliveries: number; readonly message: ReceivedMessage };

export type JobOutcome = { readonly job: TakenJob; readonly outcome: Outcome };

type PlaceRow = { readonly position: number; readonly log: string | null; readonly eventId: string | null };
type JobRow = { seq: number; id: string; body: string; deliveries: number };

export class JobStore {
  /** Stores all or nothing. Jobs that the queue holds are left as they are. */
  readonly publish: (queue: string, messages: readonly Message[]) => void;
  /** Stores jobs' outcomes and takes up to `limit` due jobs, in one transaction. */
  readonly exchange: (queue: string, outcomes: readonly JobOutcome[], limit: number) => TakenJob[];
  /** Renews the leases of these jobs. */
  readonly renew: (jobs: Iterable<TakenJob>) => void;
  readonly #db: Database;
  readonly #nextDue: Statement<[string], number | null>;

  /** Opens the file; creates it if missing. `leaseMs`: how long a taken job stays with its consumer. */
  constructor(file: string, leaseMs: number) {
    const db = openSqlite(file);
    db.pragma('journal_mode = WAL');
    // A power cut undoes the last changes together with the publishers' checkpoints. Lost messages are published again
    // from the log, and finished ones are redelivered. So no write waits for the disk.
    db.pragma('synchronous = NORMAL');
    db.exec(SCHEMA);
    // The clock was ahead, and was put back. A message that comes too early for its delivery is put off once more.
    const tooLate = db.prepare('UPDATE jobs SET due_at = :now WHERE due_at > :now + :longest');
    tooLate.run({ now: Date.now(), longest: LONGEST_DELAY_MS });
    this.#db = db;
    this.#nextDue = db.prepare<[string], number | null>('SELECT min(due_at) FROM jobs WHERE queue = ?').pluck();
    this.publish = preparePublish(db);
    this.exchange = prepareExchange(db, leaseMs);
    this.renew = prepareRenew(db, leaseMs);
  }

  storeCheckpoint(name: string, { position, log, eventId }: LogAnchor): void {
    const store = this.#db.prepare(
      'INSERT OR REPLACE INTO checkpoints (name, position, log, event_id) VALUES (?, ?, ?, ?)',
    );
    store.run(name, position, log ?? null, eventId ?? null);
  }

  checkpoint(name: string): LogAnchor {
    const read = this.#db.prepare<[string], PlaceRow>(
      'SELECT position, log, event_id AS eventId FROM checkpoints WHERE name = ?',
    );
    const { position, log, eventId } = read.get(name) ?? { position: 0, log: null, eventId: null };
    return { position, log: log ?? undefined, eventId: eventId ?? undefined };
  }

  /** When the queue's next job is due (ms since the epoch); undefined if there is none. */
  nextDue(queue: string): number | undefined {
    return this.#nextDue.get(queue) ?? undefined;
  }

  depth(queue: string): QueueDepth {
    const now = Date.now();
    const counts = this.#db.prepare<[{ queue: string; now: number }], QueueDepth>(`
      SELECT count(*) FILTER (WHERE due_at <= :now) AS ready,
             count(*) FILTER (WHERE due_at > :now AND NOT taken) AS delayed,
             count(*) FILTER (WHERE due_at > :now AND taken) AS inFlight
      FROM jobs WHERE queue = :queue`);
    return counts.get({ queue, now }) ?? { ready: 0, delayed: 0, inFlight: 0 };
  }

  close(): void {
    this.#db.close();
  }
}

function preparePublish(db: Database): JobStore['publish'] {
  const insert = db.prepare(`INSERT INTO jobs (queue, id, body, due_at) VALUES (?, ?, ?, ?) ON CONFLICT (queue, id)
    DO NOTHING`);
  return db.transaction((queue: string, messages: readonly Message[]) => {
    const now = Date.now();
    for (const { id, body } of messages) insert.run(queue, id, JSON.stringify(body), now);
  }).immediate;
}

function prepareExchange(db: Database, leaseMs: number): JobStore['exchange'] {
  const current = 'WHERE seq = ? AND deliveries = ? AND taken';
  const done = db.prepare(`DELETE FROM jobs ${current}`);
  const retry = db.prepare(`UPDATE jobs SET taken = 0, due_at = ? ${current}`);
  const take = db.prepare<[number, string, number, number], JobRow>(`
    UPDATE jobs SET taken = 1, deliveries = deliveries + 1, due_at = ?
    WHERE seq IN (SELECT seq FROM jobs WHERE queue = ? AND due_at <= ? ORDER BY due_at, seq LIMIT ?)
    RETURNING seq, id, body, deliveries`);
  const store = ({ job, outcome }: JobOutcome, now: number): void => {
    if (outcome.kind === 'done') done.run(job.seq, job.deliveries);
    else retry.run(now + Math.max(0, Math.round(outcome.delayMs)), job.seq, job.deliveries);
  };
  return db.transaction((queue: string, outcomes: readonly JobOutcome[], limit: number) => {
    const now = Date.now();
    for (const each of outcomes) store(each, now);
    if (limit <= 0) return [];
    // RETURNING has no order of its own.
    const taken = take.all(now + leaseMs, queue, now, limit).sort((a, b) => a.seq - b.seq);
    return taken.map(({ seq, deliveries, id, body }) => ({
      seq,
      deliveries,
      message: { id, body: JSON.parse(body), redeliveries: deliveries - 1 },
    }));
  }).immediate;
}

function prepareRenew(db: Database, leaseMs: number): JobStore['renew'] {
  const extend = db.prepare('UPDATE jobs SET due_at = ? WHERE seq = ? AND deliveries = ? AND taken');
  return db.transaction((jobs: Iterable<TakenJob>) => {
    const until = Date.now() + leaseMs;
    for (const job of jobs) extend.run(until, job.seq, job.deliveries);
  }).immediate;
}

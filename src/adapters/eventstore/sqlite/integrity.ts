/** Looks through the file of the embedded log for what is damaged or missing. Reads only: writers are not held up. */
import type Database from 'better-sqlite3';
import { isDamage } from '../../damagedFiles.js';
import { openSqlite } from '../../openSqlite.js';

/** How many of a kind are named. */
const MOST = 10;

export type LogIntegrity = {
  readonly events: number;
  /** What is wrong, a sentence each; none where all is well. */
  readonly faults: readonly string[];
};

/** @throws Error when the file cannot be read at all, other than because it is damaged */
export function checkSqliteEventStore(file: string): LogIntegrity {
  const db = openSqlite(file, { readonly: true, fileMustExist: true });
  try {
    // One moment for all of it.
    db.exec('BEGIN');
    return { events: countOf(db), faults: [...structure(db), ...gaps(db)] };
  } catch (error) {
    if (!isDamage(error)) throw error;
    return { events: 0, faults: [`SQLite says: ${(error as Error).message}.`] };
  } finally {
    db.close();
  }
}

const countOf = (db: Database.Database): number =>
  db.prepare<[], number>('SELECT count(*) FROM events').pluck().get() ?? 0;

/** Pages, rows, and that each event is found by its stream, its id and its category. */
function structure(db: Database.Database): string[] {
  const said = db.prepare<[], string>(`PRAGMA integrity_check(${MOST})`).pluck().all();
  return said.length === 1 && said[0] === 'ok' ? [] : said.map((line) => `SQLite says: ${line}.`);
}

/** Positions and the revisions of each stream are counted up without a gap, and an append is never cut. */
function gaps(db: Database.Database): string[] {
  const last = db
    .prepare<[], { position: number; following: number }>(
      'SELECT position, following FROM events ORDER BY position DESC LIMIT 1',
    )
    .get();
  if (last === undefined) return [];
  const positions = db
    .prepare<[number], number>(
      `SELECT position FROM (SELECT position, lag(position, 1, 0) OVER (ORDER BY position) AS before FROM events)
       WHERE position <> before + 1 LIMIT ?`,
    )
    .pluck()
    .all(MOST);
  const streams = db
    .prepare<[number], string>(
      `SELECT name FROM (SELECT stream_id, count(*) AS events, min(revision) AS first, max(revision) AS last
         FROM events GROUP BY stream_id) JOIN streams USING (stream_id)
       WHERE first <> 0 OR last <> events - 1 LIMIT ?`,
    )
    .pluck()
    .all(MOST);
  return [
    ...positions.map((position) => `The event before position ${position} is missing.`),
    ...streams.map((stream) => `Events of the stream ${stream} are missing.`),
    ...(last.following === 0 ? [] : [`The last append ends before its last event, at position ${last.position}.`]),
  ];
}

/** Checks the embedded log's file for damage and gaps. Only reads, so writers are not blocked. */
import type Database from 'better-sqlite3';
import { isDamage } from '../../damagedFiles.js';
import { openSqlite } from '../../openSqlite.js';

/** Limit of faults named per kind. */
const MOST = 10;

export type LogIntegrity = {
  readonly events: number;
  /** One sentence per fault; empty if all is well. */
  readonly faults: readonly string[];
};

/** @throws Error if the file cannot be read at all for another reason than damage */
export function checkSqliteEventStore(file: string): LogIntegrity {
  const db = openSqlite(file, { readonly: true, fileMustExist: true });
  try {
    // One snapshot for all checks.
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

/** Checks pages, rows, and that the indexes by stream, id and category find each event. */
function structure(db: Database.Database): string[] {
  const said = db.prepare<[], string>(`PRAGMA integrity_check(${MOST})`).pluck().all();
  return said.length === 1 && said[0] === 'ok' ? [] : said.map((line) => `SQLite says: ${line}.`);
}

/** Checks that positions and each stream's revisions have no gap, and that no append is incomplete. */
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

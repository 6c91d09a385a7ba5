/** The index of the tree's leaves: an SQLite file, made from the log, on every engine. */

import { uuidText } from '../domain/assetTypes/fieldTypes.js';
import type { LeafIndex, TreePlace } from '../ports/leafIndex.js';
import { type Database, isDamage, openSqlite, removeDatabase, uuidBytes } from './openSqlite.js';

/** Leaves of events with one id that are looked at for a proof. */
const MAX_FOUND_LEAVES = 10;

// A power cut undoes the last commits together with their place in the log, so they are read from the log again.
const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS place (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    log TEXT NOT NULL,
    position INTEGER NOT NULL,
    event_id TEXT,
    size INTEGER NOT NULL,
    edge BLOB NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS leaves (
    event_id BLOB NOT NULL,
    leaf INTEGER NOT NULL,
    after INTEGER NOT NULL,
    PRIMARY KEY (event_id, leaf)
  ) STRICT, WITHOUT ROWID;`;

type PlaceRow = Omit<TreePlace, 'eventId'> & { readonly eventId: string | null };
type LeafRow = { readonly id: string; readonly leaf: number; readonly after: number };

/** Opens the file, and creates it if it is missing. After damage the log is read again. */
export function openLeafIndex(file: string): LeafIndex {
  const db = openSqlite(file, { timeout: 5_000 });
  try {
    db.exec(SCHEMA);
    return leafIndexIn(db);
  } catch (error) {
    db.close();
    if (!isDamage(error)) throw error;
    removeDatabase(file);
    return openLeafIndex(file);
  }
}

function leafIndexIn(db: Database): LeafIndex {
  const place = db.prepare<[], PlaceRow>('SELECT log, position, event_id AS eventId, size, edge FROM place');
  const putPlace = db.prepare<[string, number, string | null, number, Buffer]>(
    `INSERT INTO place (only, log, position, event_id, size, edge) VALUES (1, ?, ?, ?, ?, ?)
     ON CONFLICT (only) DO UPDATE SET log = excluded.log, position = excluded.position, event_id = excluded.event_id,
       size = excluded.size, edge = excluded.edge
     WHERE excluded.log <> place.log OR excluded.size >= place.size`,
  );
  const putLeaf = db.prepare<[Buffer, number, number]>(
    'INSERT INTO leaves (event_id, leaf, after) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const find = db.prepare<[Buffer, number], LeafRow>(
    'SELECT lower(hex(event_id)) AS id, leaf, after FROM leaves WHERE event_id = ? ORDER BY leaf LIMIT ?',
  );
  const write = db.transaction<LeafIndex['commit']>(({ log, position, eventId, size, edge }, leaves) => {
    for (const { eventId: id, leaf, after } of leaves) putLeaf.run(uuidBytes(id), leaf, after);
    putPlace.run(log, position, eventId ?? null, size, Buffer.from(edge));
  });
  return {
    place() {
      const { eventId, ...row } = place.get() ?? {};
      return 'log' in row ? { ...row, ...(eventId != null && { eventId }) } : undefined;
    },
    commit: (...of) => write.immediate(...of),
    find: (eventId) =>
      find
        .all(uuidBytes(eventId), MAX_FOUND_LEAVES)
        .map(({ id, leaf, after }) => ({ eventId: uuidText(id), leaf, after })),
    clear: () => void db.exec('BEGIN IMMEDIATE; DELETE FROM place; DELETE FROM leaves; COMMIT'),
    close: () => void db.close(),
  };
}

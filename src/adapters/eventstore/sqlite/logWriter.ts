import type { Database } from 'better-sqlite3';
import type { Revision } from '../../../ports/eventStore.js';
import { isAt } from '../appendChecks.js';
import type { AppendOutcome, AppendRequest } from './appender.js';
import { type EncodedEvent, uuidBytes } from './encoding.js';

/**
 * Writes groups of appends. Everything that a check depends on is read inside the immediate
 * transaction, because other processes may append to the same file in between.
 */
export class LogWriter {
  readonly #db: Database;
  readonly #statements: ReturnType<typeof prepare>;
  /** Rows of small tables that never change once they are committed. */
  readonly #categoryIds = new Map<string, number>();
  readonly #typeIds = new Map<string, number>();

  constructor(db: Database) {
    this.#db = db;
    this.#statements = prepare(db);
  }

  /**
   * Appends a group in one transaction: one fsync for all. A conflict fails its own append only,
   * since each is checked before it writes anything.
   * @throws SqliteError when the transaction fails; then nothing of the group is stored
   */
  writeGroup(requests: readonly AppendRequest[]): readonly AppendOutcome[] {
    try {
      return this.#db.transaction(() => requests.map((request) => this.#append(request))).immediate();
    } catch (error) {
      this.#categoryIds.clear();
      this.#typeIds.clear();
      throw error;
    }
  }

  #append({ stream, events, expectedRevision }: AppendRequest): AppendOutcome {
    const streamId = this.#statements.findStream.get(stream)?.stream_id;
    const head = streamId === undefined ? -1 : (this.#statements.head.get(streamId)?.revision ?? -1);
    const conflict: AppendOutcome = { kind: 'conflict', actual: head === -1 ? 'no-stream' : head };
    if (streamId !== undefined) {
      const stored = events.flatMap(({ id }) => this.#statements.findEvent.get(streamId, uuidBytes(id)) ?? []);
      const last = stored.at(-1);
      if (last !== undefined) return stored.length === events.length ? { kind: 'stored', ...last } : conflict;
    }
    if (!isAt(expectedRevision, head)) return conflict;
    if (events.length === 0) return { kind: 'stored', revision: head, position: this.#lastPosition() };
    const position = this.#insert(streamId ?? this.#newStream(stream), categoryOf(stream), head + 1, events);
    return { kind: 'stored', revision: head + events.length, position };
  }

  #insert(streamId: number, category: string, firstRevision: Revision, events: readonly EncodedEvent[]): number {
    const categoryId = this.#categoryId(category);
    let position = 0;
    events.forEach((event, index) => {
      const { lastInsertRowid } = this.#statements.insertEvent.run(
        streamId,
        categoryId,
        firstRevision + index,
        events.length - 1 - index,
        this.#typeId(event),
        uuidBytes(event.id),
        event.metadata,
        event.data,
      );
      position = Number(lastInsertRowid);
    });
    return position;
  }

  #newStream(name: string): number {
    return Number(this.#statements.insertStream.run(name).lastInsertRowid);
  }

  #categoryId(name: string): number {
    return remember(this.#categoryIds, name, () => {
      this.#statements.insertCategory.run(name);
      return this.#statements.findCategory.get(name)?.category_id;
    });
  }

  #typeId({ type, schemaVersion }: EncodedEvent): number {
    return remember(this.#typeIds, `${schemaVersion} ${type}`, () => {
      this.#statements.insertType.run(type, schemaVersion);
      return this.#statements.findType.get(type, schemaVersion)?.type_id;
    });
  }

  #lastPosition(): number {
    return this.#statements.lastPosition.get()?.position ?? 0;
  }
}

/** The category of a stream: its name up to and with the first `-`; the whole name where there is none. */
function categoryOf(stream: string): string {
  const dash = stream.indexOf('-');
  return dash === -1 ? stream : stream.slice(0, dash + 1);
}

function prepare(db: Database) {
  return {
    findStream: db.prepare<[string], { stream_id: number }>('SELECT stream_id FROM streams WHERE name = ?'),
    insertStream: db.prepare<[string]>('INSERT INTO streams (name) VALUES (?)'),
    head: db.prepare<[number], { revision: number | null }>(
      'SELECT max(revision) AS revision FROM events WHERE stream_id = ?',
    ),
    findEvent: db.prepare<[number, Buffer], { revision: number; position: number }>(
      'SELECT revision, position FROM events WHERE stream_id = ? AND event_id = ?',
    ),
    insertEvent: db.prepare<[number, number, number, number, number, Buffer, string, string]>(
      `INSERT INTO events (stream_id, category_id, revision, following, type_id, event_id, metadata, data)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    insertCategory: db.prepare<[string]>('INSERT OR IGNORE INTO categories (name) VALUES (?)'),
    findCategory: db.prepare<[string], { category_id: number }>('SELECT category_id FROM categories WHERE name = ?'),
    insertType: db.prepare<[string, number]>('INSERT OR IGNORE INTO event_types (type, schema_version) VALUES (?, ?)'),
    findType: db.prepare<[string, number], { type_id: number }>(
      'SELECT type_id FROM event_types WHERE type = ? AND schema_version = ?',
    ),
    lastPosition: db.prepare<[], { position: number }>('SELECT max(position) AS position FROM events'),
  };
}

function remember(known: Map<string, number>, key: string, find: () => number | undefined): number {
  const id = known.get(key) ?? find();
  if (id === undefined) throw new Error(`${key} was inserted and is not there.`);
  known.set(key, id);
  return id;
}

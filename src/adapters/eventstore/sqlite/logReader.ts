import { READ_SLICE_BYTES } from '../../../domain/limits.js';
import type {
  AppendResult,
  BackwardSlice,
  EventPosition,
  EventSize,
  EventSlice,
  Position,
  RecordedEvent,
  Revision,
  SizeSlice,
  SliceRange,
  StreamSlice,
} from '../../../ports/eventStore.js';
import type { Database } from '../../openSqlite.js';
import { decodeEvent, type EventRow, uuidText } from './encoding.js';

/** Characters of data after which a slice ends, with the append that reaches them. */
const SLICE_SIZE = 4_000_000;
/** A filter skips at most this many index entries per slice (a few milliseconds), then lets others run. */
const SCAN_COUNT = 20_000;
/** Events whose sizes are read at once (a few milliseconds). */
const SIZE_COUNT = 1_000;

type Accepts = (stream: string) => boolean;

/** An event's position, and how many events of its append follow it. */
type SlicePosition = { readonly position: number; readonly following: number };

/** The matches of one prefix between two positions. `end` is how far it was searched. */
type Scan = { readonly places: readonly SlicePosition[]; readonly end: Position };

/** Reads the log in steps that are short enough for any thread's event loop. */
export class LogReader {
  readonly #statements: ReturnType<typeof prepare>;
  /**
   * The next slice after a position. `prefixes` unset: all streams. Data of streams that are not accepted is not
   * parsed.
   */
  readonly slice: (
    after: Position,
    prefixes: readonly string[] | undefined,
    maxCount: number,
    accepts: Accepts,
  ) => EventSlice;

  constructor(db: Database) {
    this.#statements = prepare(db);
    // A transaction, so that all reads see one snapshot.
    this.slice = db.transaction((after, prefixes, maxCount, accepts) => {
      const slice =
        prefixes === undefined
          ? this.#unfiltered(after, maxCount, accepts)
          : this.#filtered(after, prefixes, maxCount, accepts);
      return { ...slice, eventId: this.#idAt(slice.position) };
    });
  }

  /** See `EventStore.holds`. Here every position up to the head has an event. */
  holds({ position, eventId }: EventPosition): boolean {
    if (position === 0) return true;
    const id = this.#idAt(position);
    return id !== undefined && (eventId === undefined || id === eventId);
  }

  #idAt(position: Position): string | undefined {
    const hex = this.#statements.idAt.get(position);
    return hex === undefined ? undefined : uuidText(hex);
  }

  head(): Position {
    return this.#statements.head.get() ?? 0;
  }

  /** See `EventStore.positionAt`: a binary search, as every position has an event. */
  positionAt(time: string): Position {
    let [low, high] = [0, this.head()];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#statements.timeAt.get(middle) ?? '') <= time) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** See `EventStore.readSlice`. Shorter than a slice of the log, as it is read on the thread that serves requests. */
  streamSlice(stream: string, { from, to, maxCount, backwards = false }: SliceRange): StreamSlice {
    const { ofStream, ofStreamBackwards } = this.#statements;
    const events: RecordedEvent[] = [];
    let size = 0;
    let next: Revision | undefined;
    for (const row of (backwards ? ofStreamBackwards : ofStream).iterate(stream, from, to)) {
      events.push(decodeEvent(row));
      size += row.data.length + row.metadata.length;
      if (events.length < maxCount && size < READ_SLICE_BYTES) continue;
      next = backwards ? row.revision - 1 : row.revision + 1;
      break;
    }
    if (backwards) events.reverse();
    return next === undefined || next < from || next > to ? { events } : { events, next };
  }

  /** See `EventStore.readBackwards`. */
  backwards(maxCount: number, before: Position = Number.MAX_SAFE_INTEGER): BackwardSlice {
    const events: RecordedEvent[] = [];
    let size = 0;
    for (const row of this.#statements.before.iterate(before)) {
      events.push(decodeEvent(row));
      size += row.data.length + row.metadata.length;
      if (events.length >= maxCount || size >= READ_SLICE_BYTES) return { events, next: row.position };
    }
    return { events };
  }

  /** The sizes of the next events after a position. SQLite knows a text's size without reading it. */
  sizes(after: Position): SizeSlice {
    const sizes = this.#statements.sizes.all(after, SIZE_COUNT);
    const position = sizes.at(-1)?.position ?? after;
    return { sizes, position, eventId: this.#idAt(position), caughtUp: position >= this.head() };
  }

  lastAppend(stream: string): AppendResult | undefined {
    return this.#statements.lastOfStream.get(stream);
  }

  storedEventTypes(): readonly { readonly type: string; readonly schemaVersion: number }[] {
    return this.#statements.types.all();
  }

  #unfiltered(after: Position, maxCount: number, accepts: Accepts): EventSlice {
    const events: RecordedEvent[] = [];
    let size = 0;
    let position = after;
    for (const row of this.#statements.after.iterate(after)) {
      if (accepts(row.stream)) events.push(decodeEvent(row));
      size += row.data.length;
      position = row.position;
      if (row.following === 0 && (events.length >= maxCount || size >= SLICE_SIZE)) break;
    }
    return { events, position, caughtUp: position >= this.head() };
  }

  #filtered(after: Position, prefixes: readonly string[], maxCount: number, accepts: Accepts): EventSlice {
    const head = Math.max(this.head(), after);
    const scans = this.#scans(after, prefixes, maxCount, head);
    const lookedAt = Math.min(head, ...scans.map(({ end }) => end));
    const places = scans
      .flatMap((scan) => scan.places)
      .filter(({ position }) => position <= lookedAt)
      .sort((one, other) => one.position - other.position);

    const events: RecordedEvent[] = [];
    let size = 0;
    let position = after;
    for (const place of places) {
      if (place.position <= position) continue; // came with the rest of its append
      if (events.length >= maxCount || size >= SLICE_SIZE) return { events, position, caughtUp: false };
      position = endOfAppend(place);
      for (const row of this.#statements.between.iterate(place.position, position)) {
        if (accepts(row.stream)) events.push(decodeEvent(row));
        size += row.data.length;
      }
    }
    return { events, position: lookedAt, caughtUp: lookedAt >= head };
  }

  #scans(after: Position, prefixes: readonly string[], maxCount: number, head: Position): readonly Scan[] {
    const categories = this.#statements.categories.all();
    const distinct = [...new Set(prefixes)];
    // Drops prefixes that another one covers, so that no stream is found twice.
    const wanted = distinct.filter((prefix) => !distinct.some((other) => other !== prefix && prefix.startsWith(other)));
    return wanted.flatMap((prefix) =>
      categories.flatMap(({ category_id, name }) => {
        if (name.startsWith(prefix)) {
          const places = this.#statements.inCategory.all(category_id, after, maxCount);
          return [{ places, end: endOfScan(places, maxCount) ?? head }];
        }
        return prefix.startsWith(name) ? [this.#scanStreams(category_id, prefix, after, maxCount, head)] : [];
      }),
    );
  }

  #scanStreams(categoryId: number, prefix: string, after: Position, maxCount: number, head: Position): Scan {
    const furthest = this.#statements.nthInCategory.get(categoryId, after, SCAN_COUNT - 1);
    const until = furthest === undefined ? head : endOfAppend(furthest);
    const places = this.#statements.inStreams.all(categoryId, after, until, prefix, prefix, maxCount);
    return { places, end: endOfScan(places, maxCount) ?? until };
  }
}

function endOfAppend({ position, following }: SlicePosition): Position {
  return position + following;
}

/** Where a scan stopped at its limit; undefined if it reached its end. */
function endOfScan(places: readonly SlicePosition[], maxCount: number): Position | undefined {
  const last = places.at(-1);
  return last !== undefined && places.length >= maxCount ? endOfAppend(last) : undefined;
}

/** CROSS JOIN makes SQLite keep the order of the log; `events` gives the rows, the other tables only names. */
const EVENTS = `
  SELECT e.position, e.revision, e.following, lower(hex(e.event_id)) AS id, s.name AS stream,
    t.type, t.schema_version, e.metadata, e.data
  FROM events e CROSS JOIN streams s USING (stream_id) CROSS JOIN event_types t USING (type_id)`;

const OF_STREAM = `${EVENTS}
  WHERE e.stream_id = (SELECT stream_id FROM streams WHERE name = ?) AND e.revision BETWEEN ? AND ?`;

/** Metadata is a list (`encoding.ts`), whose fifth entry is the time. */
const TIME = "e.metadata ->> '$[4]'";

function prepare(db: Database) {
  return {
    head: db.prepare<[], number | null>('SELECT max(position) FROM events').pluck(),
    idAt: db.prepare<[number], string>('SELECT lower(hex(event_id)) FROM events WHERE position = ?').pluck(),
    timeAt: db.prepare<[number], string>(`SELECT ${TIME} FROM events e WHERE position = ?`).pluck(),
    types: db.prepare<[], { type: string; schemaVersion: number }>(
      'SELECT type, schema_version AS schemaVersion FROM event_types',
    ),
    after: db.prepare<[number], EventRow>(`${EVENTS} WHERE e.position > ? ORDER BY e.position`),
    before: db.prepare<[number], EventRow>(`${EVENTS} WHERE e.position < ? ORDER BY e.position DESC`),
    sizes: db.prepare<[number, number], EventSize>(
      `SELECT e.position, s.name AS stream, t.type, octet_length(e.data) + octet_length(e.metadata) AS bytes,
         ${TIME} AS occurredAt
       FROM events e CROSS JOIN streams s USING (stream_id) CROSS JOIN event_types t USING (type_id)
       WHERE e.position > ? ORDER BY e.position LIMIT ?`,
    ),
    between: db.prepare<[number, number], EventRow>(`${EVENTS} WHERE e.position BETWEEN ? AND ? ORDER BY e.position`),
    ofStream: db.prepare<[string, number, number], EventRow>(`${OF_STREAM} ORDER BY e.revision`),
    ofStreamBackwards: db.prepare<[string, number, number], EventRow>(`${OF_STREAM} ORDER BY e.revision DESC`),
    lastOfStream: db.prepare<[string], AppendResult>(
      `SELECT revision, position FROM events WHERE stream_id = (SELECT stream_id FROM streams WHERE name = ?)
       ORDER BY revision DESC LIMIT 1`,
    ),
    categories: db.prepare<[], { category_id: number; name: string }>('SELECT category_id, name FROM categories'),
    inCategory: db.prepare<[number, number, number], SlicePosition>(
      'SELECT position, following FROM events WHERE category_id = ? AND position > ? ORDER BY position LIMIT ?',
    ),
    nthInCategory: db.prepare<[number, number, number], SlicePosition>(
      'SELECT position, following FROM events WHERE category_id = ? AND position > ? ORDER BY position LIMIT 1 OFFSET ?',
    ),
    inStreams: db.prepare<[number, number, number, string, string, number], SlicePosition>(
      `SELECT e.position, e.following FROM events e CROSS JOIN streams s USING (stream_id)
       WHERE e.category_id = ? AND e.position > ? AND e.position <= ? AND substr(s.name, 1, length(?)) = ?
       ORDER BY e.position LIMIT ?`,
    ),
  };
}

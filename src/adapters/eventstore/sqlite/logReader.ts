import { READ_SLICE_BYTES } from '../../../domain/limits.js';
import type {
  AppendResult,
  BackwardSlice,
  EventPosition,
  EventSlice,
  EventType,
  Position,
  RecordedEvent,
  Revision,
  SliceRange,
  StreamSlice,
} from '../../../ports/eventStore.js';
import type { Database } from '../../openSqlite.js';
import { decodeEvent, type EventRow, uuidText } from './encoding.js';

/** Characters of data after which a slice ends, with the append that reaches them. */
const SLICE_SIZE = 4_000_000;
/** Events that a slice passes over at most (a few milliseconds), then others run. */
const SCAN_COUNT = 4_000;

/** An event; `data` is null where only its place was read. `following`: how many of its append follow. */
type Place = Pick<EventRow, 'position' | 'stream' | 'id'> & { readonly following: number; readonly data: null };
type PlacedRow = EventRow & Pick<Place, 'following'>;

/** Reads the log in steps that are short enough for any thread's event loop. */
export class LogReader {
  readonly #statements: ReturnType<typeof prepare>;

  constructor(db: Database) {
    this.#statements = prepare(db);
  }

  /**
   * The next events after a position, of the streams that are wanted.
   * @param isSparse whether few streams are: data of others is not read, at three times the price for those that are
   */
  slice(after: Position, isWanted: (stream: string) => boolean, maxCount: number, isSparse: boolean): EventSlice {
    const { placesAfter, rowsAfter, at } = this.#statements;
    const events: RecordedEvent[] = [];
    let [size, passed, caughtUp]: [number, number, boolean] = [0, 0, true];
    let last: Place | PlacedRow | undefined;
    for (const place of (isSparse ? placesAfter : rowsAfter).iterate(after)) {
      const wanted = isWanted(place.stream);
      const row = wanted && place.data === null ? at.get(place.position) : place;
      size += row?.data?.length ?? 0;
      if (wanted && row !== undefined && row.data !== null) events.push(decodeEvent(row));
      passed += 1;
      last = place;
      // An append is never cut.
      if (place.following > 0 || (events.length < maxCount && size < SLICE_SIZE && passed < SCAN_COUNT)) continue;
      caughtUp = place.position >= this.head();
      break;
    }
    if (last === undefined) return { events, position: after, eventId: this.#idAt(after), caughtUp };
    return { events, position: last.position, eventId: uuidText(last.id), caughtUp };
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

  /** See `EventStore.readSlice`. */
  streamSlice(stream: string, { from, to, maxCount, backwards = false }: SliceRange): StreamSlice {
    const { ofStream, ofStreamBackwards } = this.#statements;
    const rows = (backwards ? ofStreamBackwards : ofStream).iterate(stream, from, to);
    const { events, last } = decoded(rows, maxCount);
    if (backwards) events.reverse();
    const next: Revision | undefined = last && (backwards ? last.revision - 1 : last.revision + 1);
    return next === undefined || next < from || next > to ? { events } : { events, next };
  }

  /** See `EventStore.readBackwards`. */
  backwards(maxCount: number, before: Position = Number.MAX_SAFE_INTEGER): BackwardSlice {
    const { events, last } = decoded(this.#statements.before.iterate(before), maxCount);
    return { events, next: last?.position };
  }

  lastAppend(stream: string): AppendResult | undefined {
    return this.#statements.lastOfStream.get(stream);
  }

  storedEventTypes(): readonly EventType[] {
    return this.#statements.types.all();
  }
}

/** The first events of these rows. `last` is set if a limit ended them. */
function decoded(rows: Iterable<EventRow>, maxCount: number): { events: RecordedEvent[]; last?: EventRow } {
  const events: RecordedEvent[] = [];
  let size = 0;
  for (const row of rows) {
    events.push(decodeEvent(row));
    size += row.data.length + row.metadata.length;
    if (events.length >= maxCount || size >= READ_SLICE_BYTES) return { events, last: row };
  }
  return { events };
}

/** CROSS JOIN makes SQLite keep the order of the log; `events` gives the rows, the other tables only names. */
const NAMED = 'FROM events e CROSS JOIN streams s USING (stream_id) CROSS JOIN event_types t USING (type_id)';

const EVENTS = `
  SELECT e.position, e.revision, e.following, lower(hex(e.event_id)) AS id, s.name AS stream, t.type, t.schema_version, e.metadata, e.data
  ${NAMED}`;

const OF_STREAM = `${EVENTS}
  WHERE e.stream_id = (SELECT stream_id FROM streams WHERE name = ?) AND e.revision BETWEEN ? AND ?`;

/** Metadata is a list (`encoding.ts`), whose fifth entry is the time. */
const TIME = "e.metadata ->> '$[4]'";

function prepare(db: Database) {
  return {
    head: db.prepare<[], number | null>('SELECT max(position) FROM events').pluck(),
    idAt: db.prepare<[number], string>('SELECT lower(hex(event_id)) FROM events WHERE position = ?').pluck(),
    timeAt: db.prepare<[number], string>(`SELECT ${TIME} FROM events e WHERE position = ?`).pluck(),
    types: db.prepare<[], EventType>('SELECT type, schema_version AS schemaVersion FROM event_types'),
    rowsAfter: db.prepare<[number], PlacedRow>(`${EVENTS} WHERE e.position > ? ORDER BY e.position`),
    placesAfter: db.prepare<[number], Place>(
      `SELECT e.position, e.following, lower(hex(e.event_id)) AS id, s.name AS stream, NULL AS data
       FROM events e CROSS JOIN streams s USING (stream_id) WHERE e.position > ? ORDER BY e.position`,
    ),
    at: db.prepare<[number], EventRow>(`${EVENTS} WHERE e.position = ?`),
    before: db.prepare<[number], EventRow>(`${EVENTS} WHERE e.position < ? ORDER BY e.position DESC`),
    ofStream: db.prepare<[string, number, number], EventRow>(`${OF_STREAM} ORDER BY e.revision`),
    ofStreamBackwards: db.prepare<[string, number, number], EventRow>(`${OF_STREAM} ORDER BY e.revision DESC`),
    lastOfStream: db.prepare<[string], AppendResult>(
      `SELECT revision, position FROM events WHERE stream_id = (SELECT stream_id FROM streams WHERE name = ?)
       ORDER BY revision DESC LIMIT 1`,
    ),
  };
}

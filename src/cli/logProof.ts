/** What a log holds, in figures by which a copy of it is proved. */
import { createHash } from 'node:crypto';
import type { EventStore, Position, RecordedEvent } from '../ports/eventStore.js';

/** The same for two logs only when they hold the same. */
export type LogProof = {
  readonly streams: number;
  readonly appends: number;
  readonly events: number;
  /** SHA-256 over all events in the order of the log, in hex. */
  readonly sha256: string;
};

/** Whether a stream counts. */
export type Selection = (stream: string) => boolean;

/** The events of one append: all of one stream, at least one. */
export type Append = {
  readonly stream: string;
  readonly events: readonly RecordedEvent[];
  readonly position: Position;
};

/** Every append up to a position, of the streams that are selected. */
export async function* appendsOf(
  log: EventStore,
  until: Position,
  isSelected: Selection = () => true,
): AsyncGenerator<Append, undefined> {
  if (until === 0) return;
  const ending = new AbortController();
  try {
    // A slice never cuts an append, and ends with the first that gives it one event.
    for await (const { events, position } of log.subscribe({ after: 0, maxCount: 1, signal: ending.signal })) {
      const [first] = events;
      if (first !== undefined && isSelected(first.stream)) yield { stream: first.stream, events, position };
      if (position >= until) return;
    }
  } finally {
    ending.abort();
  }
}

/**
 * Reads the whole log. Each event enters the hash as a line of JSON: stream, place in the stream from 0, place in its
 * append and size of that, id, type, data, metadata; members of objects in the order of their names. Positions do not
 * enter: every engine counts its own. Nor do revisions, which have gaps where EventStoreDB holds an append that was
 * never finished; the place in the stream has none.
 */
export async function proofOf(
  log: EventStore,
  onProgress: (position: Position, head: Position) => void,
  isSelected?: Selection,
): Promise<LogProof> {
  const head = await log.head();
  const hash = createHash('sha256');
  const places = new Map<string, number>();
  let [appends, events] = [0, 0];
  for await (const append of appendsOf(log, head, isSelected)) {
    let place = places.get(append.stream) ?? 0;
    append.events.forEach(({ id, type, data, metadata }, index) => {
      const line = [append.stream, place, index, append.events.length, id, type, canonical(data), canonical(metadata)];
      hash.update(JSON.stringify(line)).update('\n');
      place += 1;
    });
    places.set(append.stream, place);
    appends += 1;
    events += append.events.length;
    onProgress(append.position, head);
  }
  return { streams: places.size, appends, events, sha256: hash.digest('hex') };
}

/** The same JSON value with the members of its objects in the order of their names. */
function canonical(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(canonical);
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  // As pairs, since an object would put members whose names are numbers first.
  return { members: members.map(([name, member]) => [name, canonical(member)]) };
}

/** Proves that a copy of a log equals the original. */
import { createHash } from 'node:crypto';
import { untilHead } from '../audit/logTree.js';
import type { EventStore, RecordedEvent } from '../ports/eventStore.js';
import { showProgress } from './command.js';

/** Equal for two logs only if their contents are equal. */
export type LogProof = {
  readonly streams: number;
  readonly appends: number;
  readonly events: number;
  /** SHA-256 over all events in log order, in hex. */
  readonly sha256: string;
};

/** Selects streams. */
export type Selection = (stream: string) => boolean;

/** The events of one append: at least one, all of one stream. */
export type Append = {
  readonly stream: string;
  readonly events: readonly RecordedEvent[];
};

/** The appends of the selected streams, up to the head as it is now. */
export async function* appendsOf(log: EventStore, isSelected: Selection = () => true): AsyncGenerator<Append> {
  // A slice never splits an append, and with maxCount 1 it holds only one.
  for await (const { events } of untilHead(log, 0, { maxCount: 1 })) {
    const [first] = events;
    if (first !== undefined && isSelected(first.stream)) yield { stream: first.stream, events };
  }
}

/**
 * Reads the whole log. Each event enters the hash as a line of JSON: stream, index in the stream from 0, index in its
 * append, size of the append, id, type, data, metadata; object members are sorted by name. Positions are left out,
 * since engines count them differently. So are revisions, which have gaps if EventStoreDB holds an unfinished append;
 * the index in the stream has none.
 */
export async function proofOf(log: EventStore, isSelected?: Selection): Promise<LogProof> {
  const hash = createHash('sha256');
  const places = new Map<string, number>();
  let [appends, events] = [0, 0];
  const of = await log.head();
  for await (const append of appendsOf(log, isSelected)) {
    if (appends % 1_000 === 0) showProgress({ tenant: null, tenants: 1, done: append.events[0]?.position ?? of, of });
    let place = places.get(append.stream) ?? 0;
    append.events.forEach(({ id, type, data, metadata }, index) => {
      const line = [append.stream, place, index, append.events.length, id, type, canonical(data), canonical(metadata)];
      hash.update(JSON.stringify(line)).update('\n');
      place += 1;
    });
    places.set(append.stream, place);
    appends += 1;
    events += append.events.length;
  }
  return { streams: places.size, appends, events, sha256: hash.digest('hex') };
}

/** The same JSON value with object members sorted by name. */
function canonical(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(canonical);
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  // As pairs: an object would put names that are numbers first.
  return { members: members.map(([name, member]) => [name, canonical(member)]) };
}

/** The log behind the protocol double of EventStoreDB: in memory, with the rules of the server (version 23.10). */

export type DoubleEvent = {
  readonly id: string;
  readonly type: string;
  readonly contentType: string;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
};

export type DoubleRecord = DoubleEvent & {
  readonly stream: string;
  readonly revision: number;
  /** Bytes from the start of the log to the record, and to its end. */
  readonly position: number;
  readonly end: number;
};

type DoubleExpectation = number | 'any' | 'no-stream';

export type DoubleOutcome =
  | { readonly kind: 'stored'; readonly revision: number; readonly position: number }
  | { readonly kind: 'conflict'; readonly actual: number | undefined };

const FIRST_POSITION = 100;

/** Records that are given at once. */
const PAGE = 4_096;

export class DoubleLog {
  readonly records: DoubleRecord[] = [];
  readonly #streams = new Map<string, DoubleRecord[]>();
  readonly #listeners = new Set<() => void>();
  #end = FIRST_POSITION;
  /** Bytes of data in one append, as docker-compose.yml sets it. */
  maxAppendSize = 16_000_000;

  constructor() {
    // A server begins with events of its own.
    this.write('$users', 'any', ['admin', 'ops'].map(systemEvent));
  }

  stream(name: string): readonly DoubleRecord[] {
    return this.#streams.get(name) ?? [];
  }

  /** The first records at or after a position. */
  from(position: number): readonly DoubleRecord[] {
    const first = this.#indexFrom(position);
    return this.records.slice(first, first + PAGE);
  }

  /** The last records that end at or before a position, the last one first. */
  before(position: number, count: number): readonly DoubleRecord[] {
    const ended = this.records.slice(0, this.#indexFrom(position)).filter(({ end }) => end <= position);
    return ended.reverse().slice(0, count);
  }

  /** The index of the first record at or after a position. */
  #indexFrom(position: number): number {
    let [low, high] = [0, this.records.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.records[middle]?.position ?? 0) < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Where the next record begins. */
  get end(): number {
    return this.#end;
  }

  /** Whether the server would refuse to read on from there: no record begins at this position, nor ends. */
  isInsideRecord(position: number): boolean {
    if (position < FIRST_POSITION) return position > 0;
    const before = this.records[this.#indexFrom(position) - 1];
    return before !== undefined && before.end > position;
  }

  onGrowth(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Takes a record out as the server's scavenge does: its place stays a valid position. */
  scavenge(position: number): void {
    const index = this.records.findIndex((record) => record.position === position);
    if (index >= 0) this.records.splice(index, 1);
  }

  /** Takes the end of a stream back, as if it had never been written. */
  truncate(stream: string, count: number): void {
    const gone = new Set(this.#streams.get(stream)?.splice(count));
    const kept = this.records.filter((record) => !gone.has(record));
    this.records.splice(0, this.records.length, ...kept);
  }

  /** As a backup of the server has it. */
  backup(): readonly DoubleRecord[] {
    return [...this.records];
  }

  /** Puts a backup in the place of all that is there, while the server does not run. */
  restore(backup: readonly DoubleRecord[]): void {
    this.records.splice(0, this.records.length, ...backup);
    this.#streams.clear();
    for (const record of backup) {
      const stored = this.#streams.get(record.stream) ?? [];
      stored.push(record);
      this.#streams.set(record.stream, stored);
    }
    this.#end = backup.at(-1)?.end ?? FIRST_POSITION;
  }

  tooLarge(events: readonly DoubleEvent[]): boolean {
    return events.reduce((sum, { data }) => sum + data.length, 0) > this.maxAppendSize;
  }

  write(stream: string, expected: DoubleExpectation, events: readonly DoubleEvent[]): DoubleOutcome {
    const stored = this.#streams.get(stream) ?? [];
    const last = stored.length - 1;
    const repeated = this.#repeated(stored, expected, events);
    if (repeated !== undefined) return repeated;
    const wanted = expected === 'no-stream' ? -1 : expected;
    if (wanted !== 'any' && wanted !== last) return { kind: 'conflict', actual: last < 0 ? undefined : last };
    for (const event of events) {
      const position = this.#end;
      this.#end += 64 + event.data.length + event.metadata.length;
      const record = { ...event, stream, revision: stored.length, position, end: this.#end };
      stored.push(record);
      this.records.push(record);
    }
    this.#streams.set(stream, stored);
    for (const listener of this.#listeners) listener();
    return { kind: 'stored', revision: stored.length - 1, position: stored.at(-1)?.position ?? 0 };
  }

  /** The same ids at the same place are the same append; only some of them are a conflict. */
  #repeated(
    stored: readonly DoubleRecord[],
    expected: DoubleExpectation,
    events: readonly DoubleEvent[],
  ): DoubleOutcome | undefined {
    if (events.length === 0) return undefined;
    const from = this.#placeOf(stored, expected, events);
    if (from === undefined || stored[from]?.id !== events[0]?.id) return undefined;
    const last = stored[from + events.length - 1];
    const same = events.every(({ id }, index) => stored[from + index]?.id === id);
    if (!same || last === undefined) return { kind: 'conflict', actual: stored.length - 1 };
    return { kind: 'stored', revision: last.revision, position: last.position };
  }

  #placeOf(
    stored: readonly DoubleRecord[],
    expected: DoubleExpectation,
    events: readonly DoubleEvent[],
  ): number | undefined {
    if (expected === 'no-stream') return 0;
    if (expected !== 'any') return expected + 1;
    const found = stored.findIndex(({ id }) => id === events[0]?.id);
    return found < 0 ? undefined : found;
  }
}

export function systemEvent(type: string): DoubleEvent {
  const empty = Buffer.from('{}');
  const id = `00000000-0000-4000-8000-${Buffer.from(type.padEnd(6).slice(0, 6)).toString('hex')}`;
  return { id, type: `$${type}`, contentType: 'application/json', data: empty, metadata: empty };
}

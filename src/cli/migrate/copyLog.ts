/** Copies one event log into another: append by append, in the order of the log, with all its ids. */
import { createHash } from 'node:crypto';
import type { AppendResult, EventStore, EventToAppend, Position, RecordedEvent } from '../../ports/eventStore.js';
import { CliError } from '../errors.js';

/** What a log holds, in figures that are the same for two logs only when they hold the same. */
type LogProof = {
  readonly streams: number;
  readonly appends: number;
  readonly events: number;
  /** SHA-256 over all events in the order of the log, in hex. */
  readonly sha256: string;
};

type Step = 'compare' | 'copy' | 'prove source' | 'prove copy';
type OnProgress = (step: Step, position: Position, head: Position) => void;

export type CopyReport = LogProof & {
  /** Events that this run wrote; the others were there from a run before. */
  readonly copied: number;
};

export type CopyTarget = {
  readonly log: EventStore;
  /** How many appends may be in flight: 1 where the log does not keep them in the order in which they were sent. */
  readonly appendsAtOnce: number;
};

/** The events of one append: all of one stream, at least one. */
type Append = {
  readonly stream: string;
  readonly events: readonly RecordedEvent[];
  readonly position: Position;
};

/** Whether a stream is copied. */
export type Selection = (stream: string) => boolean;

/** Every append up to a position, of the streams that are selected. */
async function* appendsOf(
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
 * Copies what the target lacks and proves at the end that both hold the same. Run again after an interruption, it goes
 * on: the target must hold a beginning of the source, or nothing.
 * @param isSelected the source is as if it had these streams only
 * @throws CliError when the target holds something else, when the source grows meanwhile, or the proof fails
 */
export async function copyLog(
  source: EventStore,
  target: CopyTarget,
  onProgress: OnProgress,
  isSelected?: Selection,
): Promise<CopyReport> {
  const head = await source.head();
  const appends = appendsOf(source, head, isSelected);
  const writer = new Writer(target);
  let copied = 0;
  try {
    await compare(target.log, appends, (append, last) => {
      writer.revisions.set(append.stream, last.revision);
      onProgress('compare', append.position, head);
    });
    for await (const append of appends) {
      await writer.write(append);
      copied += append.events.length;
      onProgress('copy', append.position, head);
    }
    await writer.finish();
  } finally {
    await appends.return(undefined);
  }
  return { ...(await prove(source, target.log, onProgress, isSelected)), copied };
}

/** Goes over what the target holds, beside the beginning of the source. */
async function compare(
  target: EventStore,
  source: AsyncGenerator<Append, undefined>,
  onSame: (append: Append, last: RecordedEvent) => void,
): Promise<void> {
  for await (const held of appendsOf(target, await target.head())) {
    const { value: append } = await source.next();
    const last = held.events.at(-1);
    if (append === undefined || last === undefined || !isSame(append, held)) {
      throw new CliError(
        `The target holds other events than the source: ${last?.type} ${last?.id} in ${held.stream}. ` +
          'Name an empty one, or the one that an interrupted run began to fill.',
      );
    }
    onSame(append, last);
  }
}

const isSame = (one: Append, other: Append): boolean =>
  one.stream === other.stream &&
  one.events.length === other.events.length &&
  one.events.every(({ id }, index) => id === other.events[index]?.id);

/** Appends in order; several at once where the target keeps the order in which they are sent. */
class Writer {
  readonly #target: CopyTarget;
  /** Last revision of each stream of the target. */
  readonly revisions = new Map<string, number>();
  #sent: Promise<AppendResult>[] = [];

  constructor(target: CopyTarget) {
    this.#target = target;
  }

  async write({ stream, events }: Append): Promise<void> {
    const last = this.revisions.get(stream);
    const sent = this.#target.log.append(stream, events.map(toAppend), last ?? 'no-stream');
    this.revisions.set(stream, (last ?? -1) + events.length);
    // A failure is thrown where the append is awaited; until then it must not end the process.
    sent.catch(() => undefined);
    this.#sent.push(sent);
    if (this.#target.appendsAtOnce === 1) this.revisions.set(stream, (await sent).revision);
    if (this.#sent.length >= this.#target.appendsAtOnce) await this.finish();
  }

  async finish(): Promise<void> {
    await Promise.all(this.#sent);
    this.#sent = [];
  }
}

const toAppend = ({ id, type, data, metadata }: RecordedEvent): EventToAppend => ({ id, type, data, metadata });

async function prove(
  source: EventStore,
  target: EventStore,
  onProgress: OnProgress,
  isSelected?: Selection,
): Promise<LogProof> {
  const copy = await proofOf(target, 'prove copy', onProgress);
  const original = await proofOf(source, 'prove source', onProgress, isSelected);
  if (original.events > copy.events) {
    throw new CliError(
      'The source has grown meanwhile. Stop the service that writes to it and run this again: it goes on.',
    );
  }
  if (original.sha256 !== copy.sha256) {
    throw new CliError(
      `The copy is not the same as the source: ${copy.events} events with SHA-256 ${copy.sha256} ` +
        `instead of ${original.events} with ${original.sha256}. Do not use it.`,
    );
  }
  return copy;
}

/**
 * Reads the whole log. Each event enters the hash as a line of JSON: stream, place in the stream from 0, place in its
 * append and size of that, id, type, data, metadata; members of objects in the order of their names. Positions do not
 * enter: every engine counts its own. Nor do revisions, which have gaps where EventStoreDB holds an append that was
 * never finished; the place in the stream has none.
 */
async function proofOf(log: EventStore, step: Step, onProgress: OnProgress, isSelected?: Selection): Promise<LogProof> {
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
    onProgress(step, append.position, head);
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

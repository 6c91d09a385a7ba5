/** Copies one event log into another: append by append, in log order, with all ids. */
import type { AppendResult, EventStore, EventToAppend, Position, RecordedEvent } from '../../ports/eventStore.js';
import { CliError } from '../errors.js';
import { type Append, appendsOf, type LogProof, proofOf, type Selection } from '../logProof.js';

type Step = 'compare' | 'copy' | 'prove source' | 'prove copy';
type OnProgress = (step: Step, position: Position, head: Position) => void;

export type CopyReport = LogProof & {
  /** Events that this run wrote; an earlier run may have written others. */
  readonly copied: number;
};

export type CopyTarget = {
  readonly log: EventStore;
  /** Appends in flight; 1 if the log may reorder them. */
  readonly appendsAtOnce: number;
};

/**
 * Copies what the target lacks, then proves that both are equal. After an interruption it can be run again and
 * continues: the target must be empty or a prefix of the source.
 * @param isSelected streams to copy
 * @throws CliError if the target holds something else, the source grows meanwhile, or the proof fails
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

/** Compares the target with the beginning of the source. */
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

/** Appends in order; several are in flight if the target keeps their order. */
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
    // The error is thrown at `finish`; until then it must not end the process.
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
  const copy = await proofOf(target, (at, head) => onProgress('prove copy', at, head));
  const original = await proofOf(source, (at, head) => onProgress('prove source', at, head), isSelected);
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

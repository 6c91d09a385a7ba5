/**
 * Appends as the server holds them. One call takes about 1 MB, so a large append goes out in several calls, and
 * readers must not see it before the last one. Every event of an append of several says which append it is of, its
 * place there and how many there are. See docs/decisions/0011.
 */
import { LRUCache } from 'lru-cache';
import type { RecordedEvent, Revision } from '../../../ports/eventStore.js';

export type AppendPart = {
  /** Id of the append: that of its first event. */
  readonly append: string;
  /** Place in the append, from 0. */
  readonly index: number;
  readonly count: number;
  /** Whether the append took several calls, so that others' events may stand between its own in the log. */
  readonly split: boolean;
};

/** An event as stored; `part` is unset where it is an append of its own. */
export type StoredEvent = { readonly event: RecordedEvent; readonly part?: AppendPart };

/** Whether `part` is the one that follows `previous` in the same append. */
export function continues(previous: AppendPart | undefined, part: AppendPart): boolean {
  return previous?.append === part.append && previous.index + 1 === part.index;
}

export const isLast = ({ index, count }: AppendPart): boolean => index === count - 1;

/** Groups sizes (bytes) into runs of at most `limit`; a larger one stands alone. Gives the lengths of the runs. */
export function runLengths(sizes: readonly number[], limit: number): readonly number[] {
  const lengths: number[] = [];
  let room = 0;
  for (const size of sizes) {
    const last = lengths.length - 1;
    if (last >= 0 && size <= room) {
      lengths[last] = (lengths[last] ?? 0) + 1;
      room -= size;
    } else {
      lengths.push(1);
      room = limit - size;
    }
  }
  return lengths;
}

/**
 * The events of whole appends: of those whose last part is there. Takes the events from any revision to the end of the
 * stream, and may begin inside an append. An append that a later event does not continue was given up by its writer.
 */
export function visible(stored: readonly StoredEvent[]): readonly RecordedEvent[] {
  const seen: RecordedEvent[] = [];
  let held: StoredEvent[] = [];
  for (const each of stored) {
    if (each.part === undefined || !continues(held.at(-1)?.part, each.part)) held = [];
    held.push(each);
    if (each.part !== undefined && !isLast(each.part)) continue;
    seen.push(...atOnce(held));
    held = [];
  }
  return seen;
}

/**
 * The events of a whole append. Those of a split one all have the position of the last: that is when they came to
 * be seen, and others' events that stand between them have been delivered before.
 */
export function atOnce(append: readonly StoredEvent[]): readonly RecordedEvent[] {
  const last = append.at(-1);
  if (last?.part?.split !== true) return append.map(({ event }) => event);
  return append.map(({ event }) => ({ ...event, position: last.event.position }));
}

/** The last revision of a stream: of all that is stored, and of whole appends. -1 where there is none. */
export type Tail = { readonly stored: Revision; readonly visible: Revision };

/**
 * Follows the end of a stream back over appends that were given up.
 * @param last gives the last event at or before a revision ('end': of the stream); undefined where there is none
 */
export async function findTail(last: (revision: Revision | 'end') => Promise<StoredEvent | undefined>): Promise<Tail> {
  let each = await last('end');
  const stored = each?.event.revision ?? -1;
  while (each?.part !== undefined && !isLast(each.part)) {
    const before = each.event.revision - each.part.index - 1;
    each = before < 0 ? undefined : await last(before);
  }
  return { stored, visible: each?.event.revision ?? -1 };
}

/** Unfinished split appends that are kept in memory; of older ones, the parts are read again when the last one comes. */
const MOST_HELD = 100;

/**
 * Puts the appends together that a subscription delivers in parts. Takes the events of all streams in the order of the
 * log. Nothing here has to survive a restart: whatever is missing when the last part comes is read from the stream,
 * where the parts of an append stand one after the other.
 */
export class Assembly {
  readonly #readBack: (last: StoredEvent) => Promise<readonly StoredEvent[]>;
  readonly #held = new LRUCache<string, StoredEvent[]>({ max: MOST_HELD });
  #midAppend = false;

  /** @param readBack gives the events of the append that ends with `last`, as its stream has them */
  constructor(readBack: (last: StoredEvent) => Promise<readonly StoredEvent[]>) {
    this.#readBack = readBack;
  }

  /**
   * Whether the events so far end inside an append of one call. Then no position may be reported: a reader that
   * starts again there would miss its beginning.
   */
  get midAppend(): boolean {
    return this.#midAppend;
  }

  /** The append that this event completes; undefined where it completes none. */
  async add(stored: StoredEvent): Promise<readonly RecordedEvent[] | undefined> {
    const { event, part } = stored;
    const held = this.#held.get(event.stream) ?? [];
    // Its writer has given up the append that this event does not continue, or never came to its end.
    this.#held.delete(event.stream);
    this.#midAppend = part !== undefined && !part.split && !isLast(part);
    if (part === undefined) return [event];

    const run = continues(held.at(-1)?.part, part) ? held : [];
    run.push(stored);
    if (!isLast(part)) {
      this.#held.set(event.stream, run);
      return undefined;
    }
    return atOnce(run.length === part.count ? run : await this.#readWhole(stored, part.count));
  }

  async #readWhole(last: StoredEvent, count: number): Promise<readonly StoredEvent[]> {
    const run = await this.#readBack(last);
    const isComplete = run.length === count && run.every(({ part }, index) => part?.index === index);
    if (!isComplete)
      throw new Error(`The append that ends at ${last.event.revision} of ${last.event.stream} has lost a part.`);
    return run;
  }
}

/**
 * Appends as the server stores them. One call takes about 1 MB, so a large append is sent in several calls, and readers
 * must not see it before the last one. Each event of an append of several events names the append, its index in it and
 * their number. See docs/decisions/0011.
 */
import { LRUCache } from 'lru-cache';
import type { RecordedEvent, Revision } from '../../../ports/eventStore.js';

export type AppendPart = {
  /** The append's id: the id of its first event. */
  readonly append: string;
  /** Index in the append, from 0. */
  readonly index: number;
  readonly count: number;
  /** Whether the append took several calls, so that others' events may stand between its own in the log. */
  readonly split: boolean;
};

/** An event as stored; `part` is unset for an append of one event. */
export type StoredEvent = { readonly event: RecordedEvent; readonly part?: AppendPart };

/** Whether `part` follows `previous` in the same append. */
function continues(previous: AppendPart | undefined, part: AppendPart): boolean {
  return previous?.append === part.append && previous.index + 1 === part.index;
}

const isLast = ({ index, count }: AppendPart): boolean => index === count - 1;

/**
 * Groups sizes (bytes) into runs of at most `limit`; a larger size gets a run of its own. Returns the lengths of the
 * runs.
 */
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
 * The events of complete appends, whose last part is there. Takes events from any revision to the end of the stream;
 * the first may be inside an append. An append was abandoned by its writer if a later event does not continue it.
 * @param end the event at the place of the last part of the append that `stored` breaks off in, if there is one
 */
export function visible(stored: readonly StoredEvent[], end?: StoredEvent): readonly RecordedEvent[] {
  const seen: RecordedEvent[] = [];
  let held: StoredEvent[] = [];
  for (const each of stored) {
    if (each.part === undefined || !continues(held.at(-1)?.part, each.part)) held = [];
    held.push(each);
    if (each.part !== undefined && !isLast(each.part)) continue;
    seen.push(...atLastPosition(held));
    held = [];
  }
  const isComplete = end?.part !== undefined && end.part.append === held.at(-1)?.part?.append && isLast(end.part);
  return isComplete ? [...seen, ...atLastPosition([...held, end]).slice(0, -1)] : seen;
}

/** How many parts of the append of the last event come after it. */
export function partsMissing(stored: readonly StoredEvent[]): number {
  const part = stored.at(-1)?.part;
  return part === undefined ? 0 : part.count - 1 - part.index;
}

/**
 * The events of a complete append. Those of a split append all get the position of its last event: then they became
 * visible, and others' events in between were delivered before.
 */
function atLastPosition(append: readonly StoredEvent[]): readonly RecordedEvent[] {
  const last = append.at(-1);
  if (last?.part?.split !== true) return append.map(({ event }) => event);
  return append.map(({ event }) => ({ ...event, position: last.event.position }));
}

/** The last revision of a stream: stored at all, and of complete appends. -1 if there is none. */
export type Tail = { readonly stored: Revision; readonly visible: Revision };

/**
 * Goes back from the end of a stream over abandoned appends.
 * @param last returns the last event at or before a revision ('end': of the stream); undefined if there is none
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

/** Unfinished split appends kept in memory. The parts of evicted ones are read again when the last part comes. */
const MAX_HELD = 100;

/**
 * Joins the parts of the appends that a subscription delivers. Takes the events of all streams in log order. Its state
 * need not survive a restart: parts that are missing when the last one comes are read from the stream, where they are
 * consecutive.
 */
export class Assembly {
  readonly #readBack: (last: StoredEvent) => Promise<readonly StoredEvent[]>;
  readonly #held = new LRUCache<string, StoredEvent[]>({ max: MAX_HELD });
  #midAppend = false;

  /** @param readBack returns the events of the append that ends with `last`, from its stream */
  constructor(readBack: (last: StoredEvent) => Promise<readonly StoredEvent[]>) {
    this.#readBack = readBack;
  }

  /**
   * Whether the last event was inside an append of one call. Then no position may be reported: a reader that resumes
   * there would miss the append's beginning.
   */
  get midAppend(): boolean {
    return this.#midAppend;
  }

  /** The append that this event completes; undefined if it completes none. */
  async add(stored: StoredEvent): Promise<readonly RecordedEvent[] | undefined> {
    const { event, part } = stored;
    const held = this.#held.get(event.stream) ?? [];
    // The held append was abandoned by its writer if this event does not continue it.
    this.#held.delete(event.stream);
    this.#midAppend = part !== undefined && !part.split && !isLast(part);
    if (part === undefined) return [event];

    const run = continues(held.at(-1)?.part, part) ? held : [];
    run.push(stored);
    if (!isLast(part)) {
      this.#held.set(event.stream, run);
      return undefined;
    }
    return atLastPosition(run.length === part.count ? run : await this.#readWhole(stored, part.count));
  }

  async #readWhole(last: StoredEvent, count: number): Promise<readonly StoredEvent[]> {
    const run = await this.#readBack(last);
    const isComplete = run.length === count && run.every(({ part }, index) => part?.index === index);
    if (!isComplete)
      throw new Error(`The append that ends at ${last.event.revision} of ${last.event.stream} has lost a part.`);
    return run;
  }
}

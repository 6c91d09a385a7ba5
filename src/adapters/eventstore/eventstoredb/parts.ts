/**
 * Appends as the server holds them. One call takes about 1 MB, so a large append goes out in several calls, and
 * readers must not see it before the last one. Every event of an append of several says which append it is of, its
 * place there and how many there are. See docs/decisions/0011.
 */
import type { RecordedEvent, Revision } from '../../../ports/eventStore.js';

export type Part = {
  /** Id of the append: that of its first event. */
  readonly append: string;
  /** Place in the append, from 0. */
  readonly index: number;
  readonly count: number;
  /** Whether the append took several calls, so that others' events may stand between its own in the log. */
  readonly split: boolean;
};

/** An event as stored; `part` is unset where it is an append of its own. */
export type StoredEvent = { readonly event: RecordedEvent; readonly part?: Part };

/** Whether `part` is the one that follows `previous` in the same append. */
export function continues(previous: Part | undefined, part: Part): boolean {
  return previous?.append === part.append && previous.index + 1 === part.index;
}

export const isLast = ({ index, count }: Part): boolean => index === count - 1;

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
 * What of a stream may be seen: appends whose last part is there. Takes the events from any revision to the end of the
 * stream, and may begin inside an append. An append that a later event does not continue was given up by its writer.
 */
export function visible(stored: readonly StoredEvent[]): readonly RecordedEvent[] {
  const seen: RecordedEvent[] = [];
  let held: StoredEvent[] = [];
  for (const each of stored) {
    if (each.part === undefined) {
      held = [];
      seen.push(each.event);
      continue;
    }
    if (!continues(held.at(-1)?.part, each.part)) held = [];
    held.push(each);
    if (!isLast(each.part)) continue;
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

/** Where a stream ends: for the server, and for those who see whole appends only. -1: nowhere. */
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

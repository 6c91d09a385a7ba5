import { randomUUID } from 'node:crypto';
import type { AppendPart, StoredEvent } from '#app/adapters/eventstore/eventstoredb/splitAppends.js';
import { metadata } from '../../contract/eventStoreFixtures.js';

/** A stored event with a random id. Its position defaults to ten times its revision. */
export function stored(stream: string, revision: number, part?: AppendPart, position = revision * 10): StoredEvent {
  const event = { id: randomUUID(), stream, revision, position, type: 'ThingHappened', data: {}, metadata };
  return part === undefined ? { event } : { event, part };
}

/** Events of an append of `count`, from `revision` on; `until` cuts it short. */
export function append(
  name: string,
  revision: number,
  count: number,
  options: { readonly stream?: string; readonly split?: boolean; readonly from?: number; readonly until?: number } = {},
): readonly StoredEvent[] {
  const { stream = 'order-1', split = true, from = 0, until = count } = options;
  return Array.from({ length: count }, (_, index) =>
    stored(stream, revision + index, { append: name, index, count, split }),
  ).slice(from, until);
}

/**
 * The replay of an order: its states one after the other, each with the event that made it, what that changed, the problems
 * that the order had then, and the deliveries that the event led to. Made from the order's stream and the delivery log.
 */
import { type OrderReader, orderAfter } from '../../commands/orders/loadOrder.js';
import { keyValue, type SnapshotSource, snapshotOf } from '../../commands/orders/orderWriter.js';
import { type StreamReads, streamPages } from '../../commands/streamPages.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { MAX_STEP_DELIVERIES } from '../../domain/limits.js';
import { changeOfOrder, type OrderChange } from '../../domain/order/differences.js';
import type { OrderEvent } from '../../domain/order/events.js';
import { type Problem, problemsOf } from '../../domain/order/problems.js';
import { orderStream } from '../../domain/streams.js';
import type { EventStore, RecordedEvent, Revision } from '../../ports/eventStore.js';
import type { DeliveryLogEntry, DeliveryQueries } from '../../queries/deliveries.js';
import type { StoredRecord } from '../../queries/storedRecord.js';
import type { Cancellation } from '../../supervision/cancellation.js';

/** Which reference records the problems were found with: those that an approval kept, or those of now. */
export const PROBLEMS_BY = ['approval', 'now'] as const;

export type ReplayStep = OrderChange & {
  readonly recorded: RecordedEvent;
  readonly problems: readonly Problem[];
  readonly problemsBy: (typeof PROBLEMS_BY)[number];
  /** In the order of their requests, at most MAX_STEP_DELIVERIES. */
  readonly deliveries: readonly DeliveryLogEntry[];
  /** Whether it has further deliveries of the event before it, and nothing else. */
  readonly isContinued: boolean;
  /** Where a replay that begins with this step begins: a revision, and how many deliveries of its event come before. */
  readonly cursor: string;
  /** Parts of the order that were checked for problems. */
  readonly checked: number;
};

export type ReplaySource = {
  readonly eventStore: StreamReads & Pick<EventStore, 'erasures'>;
  readonly orders: OrderReader;
  /** Reference records of the tenant, as they are now. */
  readonly find: SnapshotSource['find'];
  readonly deliveries: DeliveryQueries['page'];
};

type Replayed = {
  readonly tenant: Pick<Tenant, 'name' | 'assetTypes' | 'orderModel'>;
  readonly orderId: string;
  /** Revision of the first event. */
  readonly from: Revision;
  /** Deliveries of the first event that are left out. Default 0. */
  readonly leftOut?: number | undefined;
  readonly cancellation?: Cancellation | undefined;
};

/** Their deliveries are read together. */
const EVENTS_AT_ONCE = 20;

/** None for an unknown order. @throws the cancellation's reason; what the engines throw */
export async function* replaySteps(source: ReplaySource, replayed: Replayed): AsyncGenerator<ReplayStep, void, void> {
  const { tenant, orderId, from, leftOut = 0, cancellation } = replayed;
  const { assetTypes, orderModel } = tenant;
  const find = existing(source.find, cancellation);
  let order =
    from === 0 ? undefined : (await source.orders.loadAt(tenant.name, orderId, from - 1, cancellation))?.state;
  let problems: readonly Problem[] | undefined;
  const pages = { from, eventsAPage: EVENTS_AT_ONCE, cancellation };
  for await (const events of streamPages(source.eventStore, orderStream(tenant.name, orderId), pages)) {
    const deliveries = await deliveriesOf(source, replayed, events);
    for (const recorded of events) {
      const event = { type: recorded.type, data: recorded.data } as OrderEvent;
      order = orderAfter(order, [recorded]);
      if (order === undefined) return;
      const told = { recorded, ...changeOfOrder(event, orderModel, orderId) };
      const own = deliveries.filter(({ sequence }) => sequence === recorded.revision);
      const parts = order.parts.size;
      const begin = recorded.revision === from ? leftOut : 0;
      if (event.type === 'OrderApproved') {
        // Exactly what the approver had: the approval keeps the records that the order named.
        const then = problemsOf(event.data.snapshot, assetTypes);
        yield* inSteps({ ...told, problems: then, problemsBy: 'approval', checked: parts, deliveries: own }, begin);
        continue;
      }
      const isKnown = problems !== undefined && !isChange(event);
      problems = isKnown ? problems : problemsOf(await snapshotOf({ assetTypes, find }, orderId, order), assetTypes);
      const checked = isKnown ? 0 : parts;
      yield* inSteps({ ...told, problems: problems ?? [], problemsBy: 'now', checked, deliveries: own }, begin);
    }
  }
}

/** One event, with few deliveries a step. @param begin how many of them are left out */
function* inSteps(step: Omit<ReplayStep, 'isContinued' | 'cursor'>, begin: number): Generator<ReplayStep, void, void> {
  const { revision } = step.recorded;
  for (let first = begin; first === begin || first < step.deliveries.length; first += MAX_STEP_DELIVERIES) {
    const deliveries = step.deliveries.slice(first, first + MAX_STEP_DELIVERIES);
    if (first === 0) yield { ...step, deliveries, isContinued: false, cursor: String(revision) };
    else {
      const nothingElse = { problems: [], changes: [], checked: 0 };
      yield { ...step, ...nothingElse, deliveries, isContinued: true, cursor: `${revision}.${first}` };
    }
  }
}

const DELIVERIES_AT_ONCE = 50;

/** All deliveries of these events, which follow one another. */
async function deliveriesOf(
  source: ReplaySource,
  { tenant, orderId, cancellation }: Replayed,
  events: readonly RecordedEvent[],
): Promise<readonly DeliveryLogEntry[]> {
  const sequence = { gte: events[0]?.revision ?? 0, lte: events.at(-1)?.revision ?? 0 };
  const asked = { orderId, sequence, order: 'oldest', limit: DELIVERIES_AT_ONCE } as const;
  const all: DeliveryLogEntry[] = [];
  for (;;) {
    const found = await source.deliveries(tenant.name, { ...asked, after: all.at(-1)?.position }, cancellation);
    all.push(...found);
    if (found.length < DELIVERIES_AT_ONCE) return all;
  }
}

/** So many records of the greatest size fit into one answer of the rows' engine (MAX_DECISION_BYTES). */
const NAMES_AT_ONCE = 30;

/** Looks each reference record up once, and keeps only whether it is there: problems ask for no more. */
function existing(find: SnapshotSource['find'], cancellation: Cancellation | undefined): SnapshotSource['find'] {
  const known = new Map<string, StoredRecord | undefined>();
  return async (table, key, values) => {
    const nameOf = (value: string): string => JSON.stringify([table, key, value]);
    const asked = values.filter((value) => !known.has(nameOf(value)));
    for (let at = 0; at < asked.length; at += NAMES_AT_ONCE) {
      cancellation?.throwIfCancelled();
      const some = asked.slice(at, at + NAMES_AT_ONCE);
      for (const value of some) known.set(nameOf(value), undefined);
      for (const record of await find(table, key, some)) {
        const id = keyValue(record, key);
        const fields = key === 'id' ? {} : { [key]: id };
        known.set(nameOf(id), { id, createdAt: '', updatedAt: '', batchId: null, fields });
      }
    }
    return values.flatMap((value) => known.get(nameOf(value)) ?? []);
  };
}

/** Whether the event may change fields that problems are found in. */
const isChange = ({ type }: OrderEvent): boolean =>
  type.startsWith('OrderCreated') || type.startsWith('OrderPart') || type === 'OrderChanged';

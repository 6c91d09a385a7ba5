/**
 * The replay of an order: its states one after the other, each with the event that made it, what that changed, the problems
 * that the order had then, and the deliveries that the event led to. Made from the order's stream and the delivery log.
 */
import { type OrderReader, orderAfter } from '../../commands/orders/loadOrder.js';
import { keyValue, type SnapshotSource, snapshotOf } from '../../commands/orders/orderWriter.js';
import { eventAt, type StreamReads, streamPages } from '../../commands/streamPages.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { type ToldOfOrder, toldOfOrder } from '../../domain/order/differences.js';
import type { OrderEvent } from '../../domain/order/events.js';
import type { Order } from '../../domain/order/order.js';
import { type Problem, problemsOf } from '../../domain/order/problems.js';
import { orderStream } from '../../domain/streams.js';
import type { Position, RecordedEvent, Revision } from '../../ports/eventStore.js';
import type { DeliveryLogEntry, DeliveryQueries, OrderDeliveryPlace } from '../../queries/deliveries.js';
import type { StoredRecord } from '../../queries/storedRecord.js';
import type { Cancellation } from '../../supervision/cancellation.js';

/** Where a replay begins: with an event, or with the deliveries of one that are behind a position. */
export type ReplayPlace = { readonly revision: Revision; readonly behind?: Position | undefined };

/** Which reference records the problems were found with: those that an approval kept, or those of now. */
export const PROBLEMS_BY = ['approval', 'now'] as const;
type ProblemsBy = (typeof PROBLEMS_BY)[number];

export type ReplayStep = ToldOfOrder & {
  readonly place: ReplayPlace;
  readonly recorded: RecordedEvent;
  /** Whether it has further deliveries of the event before it, and nothing else. */
  readonly isContinued: boolean;
  readonly problems: readonly Problem[];
  readonly problemsBy: ProblemsBy;
  /** In the order of their requests, at most DELIVERIES_A_STEP. */
  readonly deliveries: readonly DeliveryLogEntry[];
  /** Parts of the order that were checked for problems. */
  readonly checked: number;
};

export type ReplaySource = {
  readonly eventStore: StreamReads;
  readonly orders: OrderReader;
  /** Reference records of the tenant, as they are now. */
  readonly find: SnapshotSource['find'];
  readonly deliveriesOfOrder: DeliveryQueries['ofOrder'];
};

/** Further deliveries of an event are another step. */
const DELIVERIES_A_STEP = 20;
const DELIVERIES_READ_AT_ONCE = 50;

type Replayed = {
  readonly tenant: Pick<Tenant, 'name' | 'assetTypes' | 'orderModel'>;
  readonly orderId: string;
  readonly from: ReplayPlace;
  readonly cancellation?: Cancellation | undefined;
};

/** None for an unknown order. @throws the cancellation's reason; what the engines throw */
export async function* replaySteps(
  source: ReplaySource,
  { tenant, orderId, from, cancellation }: Replayed,
): AsyncGenerator<ReplayStep, void, void> {
  const stream = orderStream(tenant.name, orderId);
  const isWithin = from.behind !== undefined;
  const first = isWithin ? from.revision + 1 : from.revision;
  const read = (behind: OrderDeliveryPlace, to: Revision) =>
    new DeliveriesOfSteps(
      (after, limit) => source.deliveriesOfOrder(tenant.name, { orderId, behind: after, to, limit }, cancellation),
      behind,
    );
  if (isWithin) {
    const event = await eventAt(source.eventStore, stream, from.revision);
    if (event === undefined) return;
    const behind = { sequence: from.revision, position: from.behind ?? -1 };
    yield* continued(event, read(behind, from.revision));
  }
  let order =
    first === 0 ? undefined : (await source.orders.loadAt(tenant.name, orderId, first - 1, cancellation))?.state;
  const checks = new Checks(source.find, tenant, orderId, cancellation);
  for await (const events of streamPages(source.eventStore, stream, { from: first, cancellation })) {
    const [{ revision: begin } = { revision: first }] = events;
    const deliveries = read({ sequence: begin, position: -1 }, events.at(-1)?.revision ?? begin);
    for (const recorded of events) {
      const event = { type: recorded.type, data: recorded.data } as OrderEvent;
      order = orderAfter(order, [recorded]);
      if (order === undefined) return;
      yield {
        place: { revision: recorded.revision },
        recorded,
        isContinued: false,
        ...toldOfOrder(event, tenant.orderModel, orderId),
        ...(await checks.after(event, order)),
        deliveries: await deliveries.of(recorded.revision),
      };
      yield* continued(recorded, deliveries);
    }
  }
}

/** Further deliveries of the event. */
async function* continued(recorded: RecordedEvent, deliveries: DeliveriesOfSteps): AsyncGenerator<ReplayStep> {
  for (;;) {
    const behind = deliveries.behind.position;
    const found = await deliveries.of(recorded.revision);
    if (found.length === 0) return;
    const { status } = recorded.data as { readonly status: string | { readonly to: string } };
    const to = typeof status === 'string' ? status : status.to;
    yield {
      place: { revision: recorded.revision, behind },
      recorded,
      isContinued: true,
      statusFrom: to,
      statusTo: to,
      reasons: [],
      changes: [],
      problems: [],
      problemsBy: 'now',
      deliveries: found,
      checked: 0,
    };
  }
}

type ReadDeliveries = (behind: OrderDeliveryPlace, limit: number) => Promise<readonly DeliveryLogEntry[]>;

/** Deliveries of one event after the other, read several at once. */
class DeliveriesOfSteps {
  readonly #read: ReadDeliveries;
  #found: readonly DeliveryLogEntry[] = [];
  #at = 0;
  #isAll = false;
  /** The last one that was returned. */
  behind: OrderDeliveryPlace;

  constructor(read: ReadDeliveries, behind: OrderDeliveryPlace) {
    this.#read = read;
    this.behind = behind;
  }

  /** The next ones of this event, which is not before that of the last call. */
  async of(revision: Revision): Promise<readonly DeliveryLogEntry[]> {
    const own: DeliveryLogEntry[] = [];
    while (own.length < DELIVERIES_A_STEP) {
      const next = await this.#next();
      if (next?.sequence !== revision) break;
      own.push(next);
      this.behind = next;
      this.#at += 1;
    }
    return own;
  }

  async #next(): Promise<DeliveryLogEntry | undefined> {
    if (this.#at === this.#found.length && !this.#isAll) {
      this.#found = await this.#read(this.#found.at(-1) ?? this.behind, DELIVERIES_READ_AT_ONCE);
      this.#at = 0;
      this.#isAll = this.#found.length < DELIVERIES_READ_AT_ONCE;
    }
    return this.#found[this.#at];
  }
}

/** So many records of the greatest size fit into one answer of the rows' engine (MAX_DECISION_BYTES). */
const NAMES_AT_ONCE = 30;

/** Finds the problems of one state after the other. Each reference record is looked up once. */
class Checks {
  readonly #find: SnapshotSource['find'];
  readonly #tenant: Replayed['tenant'];
  readonly #orderId: string;
  readonly #cancellation: Cancellation | undefined;
  /** Whether there is a record, by table and key, then by its value. */
  readonly #isThere = new Map<string, Map<string, boolean>>();
  #last: readonly Problem[] | undefined;

  constructor(
    find: SnapshotSource['find'],
    tenant: Replayed['tenant'],
    orderId: string,
    cancellation: Cancellation | undefined,
  ) {
    this.#find = find;
    this.#tenant = tenant;
    this.#orderId = orderId;
    this.#cancellation = cancellation;
  }

  async after(event: OrderEvent, order: Order): Promise<Pick<ReplayStep, 'problems' | 'problemsBy' | 'checked'>> {
    const { assetTypes } = this.#tenant;
    const { size: checked } = order.parts;
    // Exactly what the approver had: the approval keeps the records that the order named.
    if (event.type === 'OrderApproved')
      return { problems: problemsOf(event.data.snapshot, assetTypes), problemsBy: 'approval', checked };
    if (this.#last !== undefined && !isChange(event)) return { problems: this.#last, problemsBy: 'now', checked: 0 };
    const find: SnapshotSource['find'] = (table, key, values) => this.#known(table, key, values);
    const snapshot = await snapshotOf({ assetTypes, find }, this.#orderId, order);
    const problems = problemsOf(snapshot, assetTypes);
    this.#last = problems;
    return { problems, problemsBy: 'now', checked };
  }

  /** Those that exist, with nothing but their key: problems ask for no more. */
  async #known(table: string, key: string, values: readonly string[]): Promise<readonly StoredRecord[]> {
    const name = `${table}.${key}`;
    const known = this.#isThere.get(name) ?? new Map<string, boolean>();
    this.#isThere.set(name, known);
    const asked = values.filter((value) => !known.has(value));
    for (let at = 0; at < asked.length; at += NAMES_AT_ONCE) {
      this.#cancellation?.throwIfCancelled();
      const some = asked.slice(at, at + NAMES_AT_ONCE);
      for (const value of some) known.set(value, false);
      for (const record of await this.#find(table, key, some)) known.set(keyValue(record, key), true);
    }
    return values.filter((value) => known.get(value) === true).map((value) => bare(key, value));
  }
}

const bare = (key: string, value: string): StoredRecord => ({
  id: value,
  createdAt: '',
  updatedAt: '',
  batchId: null,
  fields: key === 'id' ? {} : { [key]: value },
});

/** Whether the event may change fields that problems are found in. */
const isChange = ({ type }: OrderEvent): boolean =>
  type.startsWith('OrderCreated') || type.startsWith('OrderPart') || type === 'OrderChanged';

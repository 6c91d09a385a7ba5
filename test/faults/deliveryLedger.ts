/** What became of each delivery, worked out from the log alone: shares no code with relay, subscriber and projections. */
import { readConfig } from '#app/config.js';
import { openEventStore } from '#app/service/engines.js';

export type Subscription = { readonly webhookId: string; readonly path: string; readonly kinds: readonly string[] };

/** Something that a webhook must be told of. */
export type Due = {
  readonly webhookId: string;
  readonly path: string;
  readonly kind: string;
  readonly orderId: string;
  readonly sourceEventId: string;
  readonly sourceRevision: number;
};

export type LoggedDelivery = {
  readonly id: string;
  readonly due: string;
  readonly purpose: unknown;
  /** Position of each attempt's beginning. */
  readonly started: number[];
  readonly failed: number[];
  ended?: { readonly type: 'DeliverySucceeded' | 'DeliveryFailed'; readonly position: number };
};

type Data = {
  readonly status?: string | { readonly from: string; readonly to: string };
  readonly webhookId: string;
  readonly kind: string;
  readonly sourceEventId: string;
  readonly purpose?: unknown;
  readonly attempt: number;
};

/** The kinds of an event in the order in which they are told (docs/events.md). */
function kindsOf(type: string, { status, ...data }: Data): readonly string[] {
  const kinds: string[] = [];
  if (type.startsWith('OrderCreated')) kinds.push('order.created');
  const isStatusAlone = ['added', 'changed', 'changes'].every((name) => !Object.hasOwn(data, name));
  if (type === 'OrderEdited' && !isStatusAlone) kinds.push('order.updated');
  if (typeof status === 'object' && status.from !== status.to) kinds.push('order.status_changed');
  if (type === 'OrderApproved') kinds.push('order.approved');
  if (type === 'OrderExportFailed') kinds.push('order.export_failed');
  return kinds;
}

const keyOf = (due: { webhookId: string; kind: string; sourceEventId: string }): string =>
  `${due.webhookId} ${due.kind} ${due.sourceEventId}`;

export class DeliveryLedger {
  /** By what they tell whom, in the order in which it happened. */
  readonly due = new Map<string, Due>();
  readonly deliveries = new Map<string, LoggedDelivery>();
  /** Orders that were approved. */
  readonly approved = new Set<string>();
  readonly #subscriptions: readonly Subscription[];

  constructor(subscriptions: readonly Subscription[]) {
    this.#subscriptions = subscriptions;
  }

  /** Reads the log of a running service until all that is due has come to an end. @throws Error after `limitMs` */
  async untilSettled(dataDir: string, tenant: string, limitMs: number): Promise<void> {
    const store = await openEventStore(readConfig({ DATA_DIR: dataDir }));
    const signal = AbortSignal.timeout(limitMs);
    const streamPrefixes = [`order-${tenant}.`, `delivery-${tenant}.`];
    try {
      for await (const { events, caughtUp } of store.subscribe({ after: 0, streamPrefixes, signal })) {
        for (const { stream, type, data, id, revision, position } of events) {
          const rest = stream.slice(stream.indexOf('.') + 1);
          if (stream.startsWith('order-')) this.#order(rest, { type, id, revision }, data as Data);
          else this.#delivery(rest, type, position, data as Data);
        }
        if (caughtUp && this.unsettled().length === 0) return;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await store.close();
    }
    throw new Error(`After ${limitMs} ms these have not ended:\n${this.unsettled().slice(0, 20).join('\n')}`);
  }

  /** What is due and has not been requested, or has not ended. */
  unsettled(): readonly string[] {
    const requested = new Set([...this.deliveries.values()].map(({ due }) => due));
    const missing = [...this.due.keys()].filter((key) => !requested.has(key)).map((key) => `not requested: ${key}`);
    const open = [...this.deliveries.values()].filter(({ ended }) => ended === undefined);
    return [...missing, ...open.map((delivery) => `open: ${JSON.stringify(delivery)}`)];
  }

  #order(orderId: string, event: { type: string; id: string; revision: number }, data: Data): void {
    if (event.type === 'OrderApproved') this.approved.add(orderId);
    for (const kind of kindsOf(event.type, data)) {
      for (const { webhookId, path, kinds } of this.#subscriptions) {
        if (!kinds.includes(kind)) continue;
        const due = { webhookId, path, kind, orderId, sourceEventId: event.id, sourceRevision: event.revision };
        this.due.set(keyOf(due), due);
      }
    }
  }

  #delivery(id: string, type: string, position: number, data: Data): void {
    if (type === 'DeliveryRequested') {
      this.deliveries.set(id, { id, due: keyOf(data), purpose: data.purpose, started: [], failed: [] });
      return;
    }
    const delivery = this.deliveries.get(id);
    if (delivery === undefined) throw new Error(`${type} of ${id} before it was requested.`);
    if (type === 'DeliveryAttemptStarted') delivery.started.push(position);
    else if (type === 'DeliveryAttemptFailed') delivery.failed.push(position);
    else if (type === 'DeliverySucceeded' || type === 'DeliveryFailed') delivery.ended = { type, position };
    else throw new Error(`The ledger does not know ${type}.`);
  }
}

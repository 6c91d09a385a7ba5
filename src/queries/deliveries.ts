/** The delivery log: rows of a tenant's space, one for each delivery to a webhook, in the order in which they were requested. */
import { normalizeDateTime } from '../domain/assetTypes/fieldTypes.js';
import { DELIVERIES } from '../domain/spaces.js';
import type { Position, Revision } from '../ports/eventStore.js';
import type { FieldCondition, Page, PageQuery, RowReads, StoredRow } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { ALL_ROWS, compares, isOneOf } from './asking.js';
import type { Tenants } from './records.js';
import { storedId } from './rowText.js';

/** One attempt of a delivery. Values not known yet are null. */
export type DeliveryAttempt = {
  readonly attempt: number;
  readonly url: string;
  /** SHA-256 of the body in hex; absent if none was sent, and in attempts of earlier releases. */
  readonly bodySha256?: string;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly durationMs: number | null;
  /** HTTP status; null without an answer. */
  readonly status: number | null;
  /** Why it failed; null if it did not. */
  readonly reason: string | null;
  /** The beginning of the answer's body. */
  readonly responseBody: string | null;
  /** Of the event that ended it; null while it is under way. */
  readonly position: Position | null;
};

/** `open`: requested and neither delivered nor given up. */
export type DeliveryState = 'open' | 'succeeded' | 'failed';

/** One delivery to one webhook, with all its attempts. */
export type DeliveryLogEntry = {
  readonly id: string;
  /** Revision of the last applied event of its stream. */
  readonly revision: Revision;
  /** Position of `DeliveryRequested`: the order of the delivery log. */
  readonly position: Position;
  readonly webhookId: string;
  /** The `webhook-id` header of its calls. */
  readonly messageId: string;
  readonly kind: string;
  /** Null if the event itself caused it. */
  readonly purpose: string | null;
  readonly orderId: string | null;
  readonly table: string | null;
  readonly sequence: Revision;
  readonly requestedAt: string;
  readonly state: DeliveryState;
  /** When it succeeded or failed for good. */
  readonly endedAt: string | null;
  /** Why it failed for good. */
  readonly reason: string | null;
  /** When the next attempt is due, after a failed one. */
  readonly retryAt: string | null;
  readonly attempts: readonly DeliveryAttempt[];
};

/** All set conditions must hold. */
export type DeliveryQuery = {
  readonly webhookId: string;
  readonly state?: DeliveryState | undefined;
  readonly kind?: string | undefined;
  readonly orderId?: string | undefined;
  /** Requested at or after this time, ISO 8601 in any zone. */
  readonly since?: string | undefined;
  /** Requested before this time. */
  readonly until?: string | undefined;
  /** Default `newest` first. */
  readonly order?: 'newest' | 'oldest';
  /** Continues after the entry at this position, in the direction of `order`. */
  readonly after?: Position | undefined;
  readonly limit: number;
};

/** Where a delivery is among those about its order: by the event that it tells of, then by its request. */
export type OrderDeliveryPlace = Pick<DeliveryLogEntry, 'sequence' | 'position'>;

/** Deliveries about events of an order, to any webhook. */
export type OrderDeliveryQuery = {
  readonly orderId: string;
  /** Continues behind this place. */
  readonly behind: OrderDeliveryPlace;
  /** Up to the event of this revision. */
  readonly to: Revision;
  readonly limit: number;
};

/** Open deliveries of one webhook. */
export type DeliveryBacklog = {
  readonly tenant: string;
  readonly webhookId: string;
  readonly open: number;
  readonly oldestRequestedAt: string;
};

/** Recent success and failure of a webhook, as far as its delivery log goes back. */
export type WebhookHealth = {
  readonly lastSuccessAt: string | null;
  /** Time of the first failed attempt since the last success; null if there is none. */
  readonly failingSince: string | null;
};

/** Deliveries that are looked at for the health of a webhook: the oldest that are open, and those that failed first. */
const HEALTH_DELIVERIES = 100;
/** Tenants whose backlog is asked for at once. */
const TENANTS_AT_ONCE = 8;

export class DeliveryQueries {
  readonly #rows: RowReads;
  readonly #tenants: Tenants;

  constructor(rows: RowReads, tenants: Tenants) {
    this.#rows = rows;
    this.#tenants = tenants;
  }

  /** One entry, or undefined. */
  async delivery(tenant: string, id: string): Promise<DeliveryLogEntry | undefined> {
    const asked = storedId(id);
    if (asked === undefined) return undefined;
    const { rows } = await this.#rows.rows({ tenant, space: DELIVERIES.name }, { ids: [asked], keys: [] });
    return rows[0] && entryOf(rows[0]);
  }

  /** A page of a webhook's entries. A cancelled search ends soon and rejects with the reason. */
  async page(tenant: string, query: DeliveryQuery, cancellation?: Cancellation): Promise<readonly DeliveryLogEntry[]> {
    const { webhookId, state, kind, orderId, since, until, order, after, limit } = query;
    const direction = order === 'oldest' ? 'asc' : 'desc';
    const conditions = [
      equals('webhook_id', webhookId),
      ...(state === undefined ? [] : [equals('state', state)]),
      ...(kind === undefined ? [] : [equals('kind', kind)]),
      ...(orderId === undefined ? [] : [equals('order_id', orderId)]),
      ...(since === undefined ? [] : [compares('created_at', 'gte', normalizeDateTime(since) ?? since)]),
      ...(until === undefined ? [] : [compares('created_at', 'lt', normalizeDateTime(until) ?? until)]),
      ...(after === undefined ? [] : [compares('position', direction === 'asc' ? 'gt' : 'lt', after)]),
    ];
    const asked: Partial<PageQuery> = { conditions, sort: [{ field: 'n', direction }], limit };
    return (await this.#rowsOf(tenant, asked, cancellation)).rows.map(entryOf);
  }

  /** A page of the entries about an order, in the order of their places. */
  async ofOrder(
    tenant: string,
    query: OrderDeliveryQuery,
    cancellation?: Cancellation,
  ): Promise<readonly DeliveryLogEntry[]> {
    const { orderId, behind, to, limit } = query;
    const ofOrder = equals('order_id', orderId);
    const sort = [
      { field: 'sequence', direction: 'asc' },
      { field: 'n', direction: 'asc' },
    ] as const;
    const pageOf = async (limit: number, ...conditions: FieldCondition[]) =>
      (await this.#rowsOf(tenant, { conditions: [ofOrder, ...conditions], sort, limit }, cancellation)).rows;
    // Behind the place are later requests about the same event, then those about later events.
    const same =
      behind.sequence > to
        ? []
        : await pageOf(limit, equals('sequence', behind.sequence), compares('position', 'gt', behind.position));
    const later = [compares('sequence', 'gt', behind.sequence), compares('sequence', 'lte', to)];
    const others = same.length === limit ? [] : await pageOf(limit - same.length, ...later);
    return [...same, ...others].map(entryOf);
  }

  async healthOf(tenant: string, webhookId: string): Promise<WebhookHealth> {
    const entries = async (state: DeliveryState, asked: Partial<PageQuery>, ...more: readonly FieldCondition[]) => {
      const conditions = [equals('webhook_id', webhookId), equals('state', state), ...more];
      return (await this.#rowsOf(tenant, { ...asked, conditions })).rows.map(entryOf);
    };
    // By position: clocks may have been put back meanwhile.
    const byEnd = (direction: 'asc' | 'desc') => ({
      sort: [
        { field: 'ended', direction },
        { field: 'n', direction },
      ],
    });
    const [last] = await entries('succeeded', { ...byEnd('desc'), limit: 1 });
    const success = last?.attempts.at(-1)?.position ?? 0;
    const limit = HEALTH_DELIVERIES;
    // Attempts that a success has followed in the same delivery are earlier than that.
    const failing = await Promise.all([
      entries('open', { limit }),
      entries('failed', { ...byEnd('asc'), limit }, compares('ended', 'gt', success)),
    ]);
    const [first] = failing
      .flatMap((found) => found.flatMap(({ attempts }) => attempts))
      .filter(({ reason, position }) => reason !== null && position !== null && position > success)
      .sort((a, b) => (a.position ?? 0) - (b.position ?? 0));
    return { lastSuccessAt: last?.endedAt ?? null, failingSince: first?.endedAt ?? null };
  }

  /** Open deliveries by webhook, of all tenants; webhooks without any are left out. */
  async backlog(): Promise<readonly DeliveryBacklog[]> {
    const tenants = [...this.#tenants.tenants()].filter(({ webhooks }) => webhooks.size > 0);
    const backlogs: DeliveryBacklog[] = [];
    for (let from = 0; from < tenants.length; from += TENANTS_AT_ONCE) {
      const some = tenants.slice(from, from + TENANTS_AT_ONCE);
      const found = await Promise.all(some.map(({ name, webhooks }) => this.#backlogOf(name, [...webhooks.keys()])));
      backlogs.push(...found.flat());
    }
    return backlogs;
  }

  async #backlogOf(tenant: string, webhookIds: readonly string[]): Promise<readonly DeliveryBacklog[]> {
    const isOpen = equals('state', 'open');
    const { total: all = 0 } = await this.#rowsOf(tenant, { conditions: [isOpen], limit: 0, withTotal: true });
    if (all === 0) return [];
    const ofWebhooks = webhookIds.map(async (webhookId) => {
      const conditions = [equals('webhook_id', webhookId), isOpen];
      const { rows, total: open = 0 } = await this.#rowsOf(tenant, { conditions, limit: 1, withTotal: true });
      return rows[0] === undefined ? [] : [{ tenant, webhookId, open, oldestRequestedAt: rows[0].created }];
    });
    return (await Promise.all(ofWebhooks)).flat();
  }

  #rowsOf(tenant: string, query: Partial<PageQuery>, cancellation?: Cancellation): Promise<Page> {
    return this.#rows.page({ tenant, space: DELIVERIES.name }, { ...ALL_ROWS, ...query }, cancellation);
  }
}

const equals = (field: string, value: string | number): FieldCondition => isOneOf(field, [value]);

/** `attempts` is the JSON text of an object by attempt number; an attempt has what is known of it. */
type StoredDelivery = {
  readonly webhook_id: string;
  readonly message_id: string;
  readonly kind: string;
  readonly purpose?: string;
  readonly order_id?: string;
  readonly table?: string;
  readonly sequence: Revision;
  readonly revision: Revision;
  readonly position: Position;
  readonly state: DeliveryState;
  readonly ended_at?: string;
  readonly reason?: string;
  readonly retry_at?: string;
  readonly attempts?: string;
};

function entryOf({ id, created, data }: StoredRow): DeliveryLogEntry {
  const stored: StoredDelivery = JSON.parse(data);
  return {
    id,
    revision: stored.revision,
    position: stored.position,
    webhookId: stored.webhook_id,
    messageId: stored.message_id,
    kind: stored.kind,
    purpose: stored.purpose ?? null,
    orderId: stored.order_id ?? null,
    table: stored.table ?? null,
    sequence: stored.sequence,
    requestedAt: created,
    state: stored.state,
    endedAt: stored.ended_at ?? null,
    reason: stored.reason ?? null,
    retryAt: stored.retry_at ?? null,
    attempts: attemptsIn(stored.attempts ?? '{}'),
  };
}

const UNENDED = {
  endedAt: null,
  durationMs: null,
  status: null,
  reason: null,
  responseBody: null,
  position: null,
} as const;

function attemptsIn(text: string): readonly DeliveryAttempt[] {
  const byNumber: { readonly [attempt: string]: Omit<DeliveryAttempt, keyof typeof UNENDED> } = JSON.parse(text);
  return Object.values(byNumber).map((stored) => ({ ...UNENDED, ...stored }));
}

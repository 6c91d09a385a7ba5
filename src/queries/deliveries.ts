/** The delivery log: rows of a tenant's space, one for each delivery to a webhook, in the order in which they were requested. */
import { normalizeDateTime } from '../domain/assetTypes/fieldTypes.js';
import { DELIVERIES } from '../domain/spaces.js';
import type { Position, Revision } from '../ports/eventStore.js';
import type { PageQuery, RowReads, StoredRow } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { ALL_ROWS, NEWEST_FIRST, readerOf, where } from './asking.js';
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

/** Entries have these null where they are not known. */
const UNKNOWN = { purpose: null, orderId: null, table: null, endedAt: null, reason: null, retryAt: null } as const;
const UNENDED = {
  endedAt: null,
  durationMs: null,
  status: null,
  reason: null,
  responseBody: null,
  position: null,
} as const;

type Told = Omit<DeliveryLogEntry, keyof typeof UNKNOWN | 'id' | 'requestedAt' | 'attempts'> & {
  /** By number: what is known of each. */
  readonly attempts?: { readonly [attempt: string]: Omit<DeliveryAttempt, keyof typeof UNENDED> };
};
const fieldsIn = readerOf<Told>(DELIVERIES, { json: ['attempts'] });

function entryOf({ id, created: requestedAt, data }: StoredRow): DeliveryLogEntry {
  const { attempts = {}, ...told } = fieldsIn(data);
  return {
    ...UNKNOWN,
    ...told,
    id,
    requestedAt,
    attempts: Object.values(attempts).map((attempt) => ({ ...UNENDED, ...attempt })),
  };
}

export class DeliveryQueries {
  readonly #rows: RowReads;
  readonly #tenants: Tenants;

  constructor(rows: RowReads, tenants: Tenants) {
    this.#rows = rows;
    this.#tenants = tenants;
  }

  /** One entry, or undefined. */
  async delivery(tenant: string, id: string): Promise<DeliveryLogEntry | undefined> {
    const ids = [storedId(id) ?? ''];
    const { rows } = await this.#rows.rows({ tenant, space: DELIVERIES.name }, { ids, keys: [] });
    return rows.map(entryOf)[0];
  }

  /** A page of a webhook's entries. A cancelled search ends soon and rejects with the reason. */
  async page(tenant: string, query: DeliveryQuery, cancellation?: Cancellation): Promise<readonly DeliveryLogEntry[]> {
    const { webhookId, state, kind, orderId, since, until, order, after, limit } = query;
    const [gte, lt] = [since, until].map((time) => time && (normalizeDateTime(time) ?? time));
    const conditions = where(
      { webhook_id: webhookId, state, kind, order_id: orderId },
      { created_at: { gte, lt }, position: order === 'oldest' ? { gt: after } : { lt: after } },
    );
    const { sort } = order === 'oldest' ? ALL_ROWS : NEWEST_FIRST;
    return this.#entries(tenant, { conditions, sort, limit }, cancellation);
  }

  /** A page of the entries about an order, in the order of their places. */
  async ofOrder(
    tenant: string,
    { orderId, behind, to, limit }: OrderDeliveryQuery,
    cancellation?: Cancellation,
  ): Promise<readonly DeliveryLogEntry[]> {
    const [order_id, { sequence, position }] = [orderId, behind];
    if (sequence > to) return [];
    // Behind the place are later requests about the same event, then those about later events.
    const sameEvent = where({ order_id, sequence }, { position: { gt: position } });
    const same = await this.#entries(tenant, { conditions: sameEvent, limit }, cancellation);
    if (same.length === limit) return same;
    const sort = [{ field: 'sequence', direction: 'asc' }, ...ALL_ROWS.sort] as const;
    const conditions = where({ order_id }, { sequence: { gt: sequence, lte: to } });
    return [...same, ...(await this.#entries(tenant, { conditions, sort, limit: limit - same.length }, cancellation))];
  }

  async healthOf(tenant: string, webhookId: string): Promise<WebhookHealth> {
    const entries = (state: DeliveryState, asked: Partial<PageQuery>, after?: Position) => {
      const conditions = where({ webhook_id: webhookId, state }, { ended: { gt: after } });
      return this.#entries(tenant, { ...asked, conditions });
    };
    // By position: clocks may have been put back meanwhile.
    const byEnd = (direction: 'asc' | 'desc') => ['ended', 'n'].map((field) => ({ field, direction }));
    const [last] = await entries('succeeded', { sort: byEnd('desc'), limit: 1 });
    const success = last?.attempts.at(-1)?.position ?? 0;
    const limit = HEALTH_DELIVERIES;
    // Attempts that a success has followed in the same delivery are earlier than that.
    const failing = await Promise.all([
      entries('open', { limit }),
      entries('failed', { sort: byEnd('asc'), limit }, success),
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
    const open = (limit: number, webhookId?: string) =>
      this.#page(tenant, { conditions: where({ webhook_id: webhookId, state: 'open' }), limit, withTotal: true });
    if ((await open(0)).total === 0) return [];
    const ofWebhooks = webhookIds.map(async (webhookId) => {
      const { rows, total = 0 } = await open(1, webhookId);
      return rows.map(({ created }) => ({ tenant, webhookId, open: total, oldestRequestedAt: created }));
    });
    return (await Promise.all(ofWebhooks)).flat();
  }

  async #entries(
    tenant: string,
    asked: Partial<PageQuery>,
    cancellation?: Cancellation,
  ): Promise<readonly DeliveryLogEntry[]> {
    return (await this.#page(tenant, asked, cancellation)).rows.map(entryOf);
  }

  #page(tenant: string, asked: Partial<PageQuery>, cancellation?: Cancellation) {
    return this.#rows.page({ tenant, space: DELIVERIES.name }, { ...ALL_ROWS, ...asked }, cancellation);
  }
}

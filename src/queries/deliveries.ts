/** The delivery log: rows of a tenant's space, one for each delivery to a webhook, in the order in which they were requested. */
import { DELIVERIES } from '../domain/spaces.js';
import type { Position, Revision } from '../ports/eventStore.js';
import type { PageQuery, RowReads, StoredRow } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { ALL_ROWS, NEWEST_FIRST, told, where } from './asking.js';
import type { Tenants } from './records.js';
import { storedId } from './storedRecord.js';

/** One attempt of a delivery. All that its end tells is unset while it is under way. */
export type DeliveryAttempt = {
  readonly attempt: number;
  readonly url: string;
  /** SHA-256 of the body in hex; unset if none was sent, and in attempts of earlier releases. */
  readonly bodySha256?: string;
  readonly startedAt: string;
  readonly endedAt?: string;
  readonly durationMs?: number | null;
  /** HTTP status; null without an answer. */
  readonly status?: number | null;
  /** Why it failed; null if it did not. */
  readonly reason?: string | null;
  /** The beginning of the answer's body. */
  readonly responseBody?: string | null;
  /** Of the event that ended it. */
  readonly position?: Position;
};

/** `open`: requested and neither delivered nor given up. */
export type DeliveryState = 'open' | 'succeeded' | 'failed';

/** One delivery to one webhook, with all its attempts. What does not apply is unset. */
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
  /** Unset if the event itself caused it. */
  readonly purpose?: string;
  readonly orderId?: string;
  readonly table?: string;
  /** Revision of the event that it tells of. */
  readonly sequence: Revision;
  readonly requestedAt: string;
  readonly state: DeliveryState;
  /** When it succeeded or failed for good, and why it failed. */
  readonly endedAt?: string;
  readonly reason?: string | undefined;
  /** When the next attempt is due, after a failed one. */
  readonly retryAt?: string;
  readonly attempts: readonly DeliveryAttempt[];
};

/** All set conditions must hold. */
export type DeliveryQuery = {
  readonly webhookId?: string | undefined;
  readonly state?: DeliveryState | undefined;
  readonly kind?: string | undefined;
  readonly orderId?: string | undefined;
  /** Of the events that they tell of. */
  readonly sequence?: { readonly gte: Revision; readonly lte: Revision } | undefined;
  /** Requested at or after this time, and before that: ISO 8601, UTC, six digits. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  /** Default `newest` first. */
  readonly order?: 'newest' | 'oldest';
  /** Continues after the entry at this position, in the direction of `order`. */
  readonly after?: Position | undefined;
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

type Told = Omit<DeliveryLogEntry, 'id' | 'requestedAt' | 'attempts'> & {
  readonly attempts: { readonly [attempt: string]: DeliveryAttempt };
};

function entryOf(row: StoredRow): DeliveryLogEntry {
  const { attempts, ...entry } = told<Told>(row);
  return { ...entry, id: row.id, requestedAt: row.created, attempts: Object.values(attempts) };
}

const byEnd = (direction: 'asc' | 'desc') => ['ended', 'n'].map((field) => ({ field, direction }));

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

  /** A cancelled search ends soon and rejects with the reason. */
  async page(tenant: string, query: DeliveryQuery, cancellation?: Cancellation): Promise<readonly DeliveryLogEntry[]> {
    const {
      webhookId: webhook_id,
      state,
      kind,
      orderId: order_id,
      sequence,
      since,
      until,
      order,
      after,
      limit,
    } = query;
    const isOldest = order === 'oldest';
    const within = { created_at: { gte: since, lt: until }, position: isOldest ? { gt: after } : { lt: after } };
    const conditions = where({ webhook_id, state, kind, order_id, sequence, ...within });
    return this.#entries(tenant, { conditions, limit, ...(isOldest ? {} : NEWEST_FIRST) }, cancellation);
  }

  async healthOf(tenant: string, webhookId: string): Promise<WebhookHealth> {
    const entries = (state: DeliveryState, asked: Partial<PageQuery>, after?: Position) =>
      this.#entries(tenant, { ...asked, conditions: where({ webhook_id: webhookId, state, ended: { gt: after } }) });
    // By position: clocks may have been put back meanwhile.
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
      .filter(({ reason, position = 0 }) => typeof reason === 'string' && position > success)
      .sort((a, b) => (a.position ?? 0) - (b.position ?? 0));
    return { lastSuccessAt: last?.endedAt ?? null, failingSince: first?.endedAt ?? null };
  }

  /** Open deliveries by webhook, of all tenants; webhooks without any are left out. */
  async backlog(): Promise<readonly DeliveryBacklog[]> {
    const tenants = [...this.#tenants.tenants()];
    const backlogs: DeliveryBacklog[] = [];
    for (let from = 0; from < tenants.length; from += TENANTS_AT_ONCE) {
      const webhooks = tenants
        .slice(from, from + TENANTS_AT_ONCE)
        .flatMap(({ name, webhooks }) => [...webhooks.keys()].map((id) => [name, id] as const));
      const found = webhooks.map(([tenant, webhookId]) => this.#backlogOf(tenant, webhookId));
      backlogs.push(...(await Promise.all(found)).flat());
    }
    return backlogs;
  }

  async #backlogOf(tenant: string, webhookId: string): Promise<readonly DeliveryBacklog[]> {
    const conditions = where({ webhook_id: webhookId, state: 'open' });
    const { rows, total = 0 } = await this.#page(tenant, { conditions, limit: 1, withTotal: true });
    return rows.map(({ created }) => ({ tenant, webhookId, open: total, oldestRequestedAt: created }));
  }

  async #entries(tenant: string, asked: Partial<PageQuery>, cancellation?: Cancellation) {
    return (await this.#page(tenant, asked, cancellation)).rows.map(entryOf);
  }

  #page(tenant: string, asked: Partial<PageQuery>, cancellation?: Cancellation) {
    return this.#rows.page({ tenant, space: DELIVERIES.name }, { ...ALL_ROWS, ...asked }, cancellation);
  }
}

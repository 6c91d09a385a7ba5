/** The delivery log: rows of a tenant's space, one for each delivery to a webhook, in the order in which they were requested. */
import type { Tenant } from '../domain/identity/directory.js';
import { DELIVERIES } from '../domain/spaces.js';
import type { WebhookEventKind } from '../domain/webhook/catalogue.js';
import type { DeliveryEvent, DeliverySubject } from '../domain/webhook/events.js';
import type { Position, Revision } from '../ports/eventStore.js';
import type { PageQuery, StoredRow } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { ALL_ROWS, NEWEST_FIRST, type Rows, storedId, told, where } from './asking.js';

type DataOf<Type extends DeliveryEvent['type']> = Extract<DeliveryEvent, { readonly type: Type }>['data'];
type Ended = Pick<DataOf<'DeliveryAttemptFailed'>, 'status' | 'durationMs' | 'responseBody' | 'responseHeaders'> & {
  readonly endedAt: string;
  /** Why it failed; null if it did not. */
  readonly reason: string | null;
  /** Of the event that ended it. */
  readonly position: Position;
};

/** One attempt of a delivery, without what is not known yet. */
export type DeliveryAttempt = DataOf<'DeliveryAttemptStarted'> & { readonly startedAt: string } & Partial<Ended>;

/** `open`: requested and neither delivered nor given up. */
export type DeliveryState = 'open' | 'succeeded' | 'failed';

/** One delivery to one webhook, with all its attempts. What does not apply is unset. */
export type DeliveryLogEntry = Pick<DeliverySubject, 'webhookId' | 'kind' | 'purpose' | 'table'> & {
  readonly id: string;
  /** Position of `DeliveryRequested`: the order of the delivery log. */
  readonly position: Position;
  /** The `webhook-id` header of its calls. */
  readonly messageId: string;
  readonly orderId?: string;
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
  readonly kind?: WebhookEventKind | undefined;
  readonly orderId?: string | undefined;
  /** Of the events that they tell of. */
  readonly sequence?: { readonly gte: Revision; readonly lte: Revision } | undefined;
  /** Requested at or after this time: ISO 8601, UTC, six digits. */
  readonly since?: string | undefined;
  /** Default `newest` first. */
  readonly order?: 'newest' | 'oldest';
  /** Continues after the entry at this position, in the direction of `order`. */
  readonly after?: Position | undefined;
  readonly limit: number;
};

/** The oldest open delivery of one webhook. */
type OldestOpen = { readonly tenant: string; readonly webhookId: string; readonly requestedAt: string };

/** Deliveries that are looked at for that: the oldest that are open, and those that failed first. */
const HEALTH_DELIVERIES = 100;

type Told = Omit<DeliveryLogEntry, 'id' | 'requestedAt' | 'attempts'> & {
  readonly attempts: { readonly [attempt: string]: DeliveryAttempt };
};

function entryOf(row: StoredRow): DeliveryLogEntry {
  const { attempts, ...entry } = told<Told>(row);
  return { ...entry, id: row.id, requestedAt: row.created, attempts: Object.values(attempts) };
}

const byEnd = (direction: 'asc' | 'desc') => ['ended', 'n'].map((field) => ({ field, direction }));

export class DeliveryQueries {
  constructor(private readonly rows: Rows) {}

  async delivery(tenant: string, id: string): Promise<DeliveryLogEntry | undefined> {
    const ids = [storedId(id) ?? ''];
    return (await this.rows.rows({ tenant, space: DELIVERIES.name }, { ids, keys: [] })).rows.map(entryOf)[0];
  }

  /** @throws the cancellation's reason */
  async page(tenant: string, query: DeliveryQuery, cancellation?: Cancellation): Promise<readonly DeliveryLogEntry[]> {
    const { webhookId: webhook_id, state, kind, orderId: order_id, sequence, since, after, limit } = query;
    const [position, sort] = query.order === 'oldest' ? [{ gt: after }, {}] : [{ lt: after }, NEWEST_FIRST];
    const conditions = where({ webhook_id, state, kind, order_id, sequence, created_at: { gte: since }, position });
    return (await this.#page(tenant, { conditions, limit, ...sort }, cancellation)).rows.map(entryOf);
  }

  /** Time of the first failed attempt since the last success, as far as the log goes back; undefined if there is none. */
  async failingSince(tenant: string, webhookId: string): Promise<string | undefined> {
    const entries = async (asked: Partial<PageQuery>, wanted: Parameters<typeof where>[0]) => {
      const conditions = where({ webhook_id: webhookId, ...wanted });
      return (await this.#page(tenant, { limit: HEALTH_DELIVERIES, ...asked, conditions })).rows.map(entryOf);
    };
    // By position: clocks may have been put back meanwhile.
    const [last] = await entries({ sort: byEnd('desc'), limit: 1 }, { state: 'succeeded' });
    const success = last?.attempts.at(-1)?.position ?? 0;
    const open = await entries({}, { state: 'open' });
    const failed = await entries({ sort: byEnd('asc') }, { state: 'failed', ended: { gt: success } });
    // Attempts that a success has followed in the same delivery are earlier than that.
    const [first] = [...open, ...failed]
      .flatMap(({ attempts }) => attempts)
      .filter(({ reason, position = 0 }) => typeof reason === 'string' && position > success)
      .sort((a, b) => (a.position ?? 0) - (b.position ?? 0));
    return first?.endedAt;
  }

  /** Of each webhook that has one. */
  async oldestOpen(tenants: Iterable<Tenant>): Promise<readonly OldestOpen[]> {
    const found: OldestOpen[] = [];
    for (const { name: tenant, webhooks } of tenants)
      for (const webhookId of webhooks.keys()) {
        const conditions = where({ webhook_id: webhookId, state: 'open' });
        const { rows } = await this.#page(tenant, { conditions, limit: 1 });
        for (const { created } of rows) found.push({ tenant, webhookId, requestedAt: created });
      }
    return found;
  }

  #page(tenant: string, asked: Partial<PageQuery>, cancellation?: Cancellation) {
    return this.rows.page({ tenant, space: DELIVERIES.name }, { ...ALL_ROWS, ...asked }, cancellation);
  }
}

/** Writes the delivery logs of one copy (the served one, or the one that a rebuild fills), and reads the served ones. */

import type {
  DeliveryBacklog,
  DeliveryLogEntry,
  DeliveryQuery,
  OrderDeliveryQuery,
  WebhookHealth,
} from '../../../ports/deliveryLog.js';
import type { Database } from '../../openSqlite.js';
import { healthAfter, instant, UNTRIED } from '../shared/deliveryLog.js';
import { LIVE } from './ddl.js';
import type { Cell, ReadConnection } from './read/readConnection.js';
import { timeText } from './rowFormat.js';

type Webhook = WebhookHealth & { readonly id: number };

const WEBHOOK_COLUMNS = 'id, last_success_at AS lastSuccessAt, failing_since AS failingSince';

export class DeliveryTable {
  readonly #copy: number;
  readonly #statements: ReturnType<typeof prepare>;

  constructor(db: Database, copy: number) {
    this.#copy = copy;
    this.#statements = prepare(db);
  }

  get(tenant: string, id: string): DeliveryLogEntry | undefined {
    const log = this.#statements.findLog.get(tenant, this.#copy);
    const entry = log === undefined ? undefined : this.#statements.entry.get(log, id);
    return entry === undefined ? undefined : JSON.parse(entry);
  }

  /** Does nothing if the entry is stored at the same or a later revision. */
  put(tenant: string, entry: DeliveryLogEntry): void {
    const { findLog, addLog, revision, write } = this.#statements;
    const log = findLog.get(tenant, this.#copy) ?? Number(addLog.run(tenant, this.#copy).lastInsertRowid);
    if ((revision.get(log, entry.id) ?? -1) >= entry.revision) return;
    write.run({ ...columnsOf(entry), log, webhook: this.#webhook(log, entry), entry: JSON.stringify(entry) });
  }

  /** Brings the webhook's health up to this entry. @returns its number in the log */
  #webhook(log: number, entry: DeliveryLogEntry): number {
    const { findWebhook, addWebhook, setHealth } = this.#statements;
    const webhook = findWebhook.get(log, entry.webhookId) ?? {
      id: Number(addWebhook.run(log, entry.webhookId).lastInsertRowid),
      ...UNTRIED,
    };
    const { lastSuccessAt, failingSince } = healthAfter(webhook, entry);
    if (lastSuccessAt !== webhook.lastSuccessAt || failingSince !== webhook.failingSince) {
      setHealth.run(lastSuccessAt, failingSince, webhook.id);
    }
    return webhook.id;
  }
}

/** The values stored beside an entry. */
export const columnsOf = (entry: DeliveryLogEntry) => ({
  id: entry.id,
  position: entry.position,
  revision: entry.revision,
  state: entry.state,
  kind: entry.kind,
  orderId: entry.orderId,
  sequence: entry.sequence,
  requestedAt: instant(entry.requestedAt),
  endedAt: entry.endedAt === null ? null : instant(entry.endedAt),
});

type DeliveryRow = ReturnType<typeof columnsOf> & {
  readonly log: number;
  readonly webhook: number;
  readonly entry: string;
};

function prepare(db: Database) {
  return {
    findLog: db.prepare<[string, number], number>('SELECT id FROM delivery_logs WHERE tenant = ? AND copy = ?').pluck(),
    addLog: db.prepare<[string, number]>('INSERT INTO delivery_logs (tenant, copy) VALUES (?, ?)'),
    entry: db.prepare<[number, string], string>('SELECT entry FROM deliveries WHERE log = ? AND id = ?').pluck(),
    revision: db.prepare<[number, string], number>('SELECT revision FROM deliveries WHERE log = ? AND id = ?').pluck(),
    write: db.prepare<[DeliveryRow]>(
      `INSERT INTO deliveries
         (log, id, webhook, position, revision, state, kind, order_id, sequence, requested_at, ended_at, entry)
       VALUES
         (@log, @id, @webhook, @position, @revision, @state, @kind, @orderId, @sequence, @requestedAt, @endedAt, @entry)
       ON CONFLICT (log, id) DO UPDATE SET
         revision = @revision, state = @state, ended_at = @endedAt, entry = @entry`,
    ),
    findWebhook: db.prepare<[number, string], Webhook>(
      `SELECT ${WEBHOOK_COLUMNS} FROM delivery_webhooks WHERE log = ? AND webhook = ?`,
    ),
    addWebhook: db.prepare<[number, string]>('INSERT INTO delivery_webhooks (log, webhook) VALUES (?, ?)'),
    setHealth: db.prepare<[string | null, string | null, number]>(
      'UPDATE delivery_webhooks SET last_success_at = ?, failing_since = ? WHERE id = ?',
    ),
  };
}

/** Drops at most `limit` entries that ended before this time; open ones have no end. @returns how many */
export function dropDeliveries(db: Database, endedBefore: string, limit: number): number {
  const dropped = db
    .prepare<[number, number]>(
      'DELETE FROM deliveries WHERE row IN (SELECT row FROM deliveries WHERE ended_at < ? ORDER BY ended_at LIMIT ?)',
    )
    .run(instant(endedBefore), limit);
  return dropped.changes;
}

const OF_TENANT = `(SELECT id FROM delivery_logs WHERE tenant = ? AND copy = ${LIVE})`;

export function readDelivery(connection: ReadConnection, tenant: string, id: string): DeliveryLogEntry | undefined {
  const sql = `SELECT entry FROM deliveries WHERE log = ${OF_TENANT} AND id = ?`;
  const [entry] = connection.column<string>(sql, [tenant, id]);
  return entry === undefined ? undefined : JSON.parse(entry);
}

const findWebhook = (connection: ReadConnection, tenant: string, webhookId: string): Webhook | undefined =>
  connection.all<Webhook>(`SELECT ${WEBHOOK_COLUMNS} FROM delivery_webhooks WHERE log = ${OF_TENANT} AND webhook = ?`, [
    tenant,
    webhookId,
  ])[0];

export function readHealth(connection: ReadConnection, tenant: string, webhookId: string): WebhookHealth {
  const { lastSuccessAt, failingSince } = findWebhook(connection, tenant, webhookId) ?? UNTRIED;
  return { lastSuccessAt, failingSince };
}

/** The entries of a page, each as JSON text. */
export function listDeliveries(connection: ReadConnection, tenant: string, query: DeliveryQuery): readonly string[] {
  return connection.inSnapshot(() => {
    const webhook = findWebhook(connection, tenant, query.webhookId);
    if (webhook === undefined) return [];
    const { sql, cells } = pageOf(webhook.id, query);
    return connection.column<string>(sql, cells);
  });
}

/** Other conditions are tested on the entries of the index, without fetching rows: 100 ms at 1,000,000. */
function pageOf(
  webhook: number,
  { state, kind, orderId, since, until, order, after, limit }: DeliveryQuery,
): { readonly sql: string; readonly cells: readonly Cell[] } {
  const oldestFirst = order === 'oldest';
  const index = orderId !== undefined ? 'order' : state !== undefined ? 'state' : 'webhook';
  const conditions: readonly (readonly [string, Cell | undefined])[] = [
    ['webhook = ?', webhook],
    ['state = ?', state],
    ['kind = ?', kind],
    ['order_id = ?', orderId],
    ['requested_at >= ?', since === undefined ? undefined : instant(since)],
    ['requested_at < ?', until === undefined ? undefined : instant(until)],
    [oldestFirst ? 'position > ?' : 'position < ?', after],
  ];
  const set = conditions.flatMap(([text, cell]) => (cell === undefined ? [] : [{ text, cell }]));
  const sql = `SELECT entry FROM deliveries INDEXED BY deliveries_${index}
    WHERE ${set.map(({ text }) => text).join(' AND ')} ORDER BY position ${oldestFirst ? 'ASC' : 'DESC'} LIMIT ?`;
  return { sql, cells: [...set.map(({ cell }) => cell), limit] };
}

/** The entries of a page about an order, each as JSON text. */
export function listDeliveriesOfOrder(
  connection: ReadConnection,
  tenant: string,
  { orderId, behind, to, limit }: OrderDeliveryQuery,
): readonly string[] {
  const sql = `SELECT entry FROM deliveries INDEXED BY deliveries_replay
    WHERE log = ${OF_TENANT} AND order_id = ? AND (sequence, position) > (?, ?) AND sequence <= ?
    ORDER BY sequence, position LIMIT ?`;
  return connection.column<string>(sql, [tenant, orderId, behind.sequence, behind.position, to, limit]);
}

/** Open deliveries, by webhook. */
export function readBacklog(connection: ReadConnection): readonly DeliveryBacklog[] {
  const waiting = (what: string) =>
    `(SELECT ${what} FROM deliveries INDEXED BY deliveries_state WHERE webhook = w.id AND state = 'open'`;
  return connection
    .all<Omit<DeliveryBacklog, 'oldestRequestedAt'> & { readonly oldest: number | null }>(
      `SELECT l.tenant, w.webhook AS webhookId, ${waiting('count(*)')}) AS open,
         ${waiting('requested_at')} ORDER BY position LIMIT 1) AS oldest
       FROM delivery_logs AS l JOIN delivery_webhooks AS w ON w.log = l.id WHERE l.copy = ${LIVE}`,
    )
    .flatMap(({ oldest, ...backlog }) =>
      oldest === null ? [] : [{ ...backlog, oldestRequestedAt: timeText(oldest) }],
    );
}

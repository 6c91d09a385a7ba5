/** Reads of the delivery log. */
import type { DeliveryBacklog, DeliveryLogEntry, DeliveryQuery, WebhookHealth } from '../../../ports/deliveryLog.js';
import { instant, UNTRIED } from '../shared/deliveryLog.js';
import type { Cell, ReadConnection } from './readConnection.js';
import { timeText } from './rowFormat.js';
import { LIVE } from './schema.js';

const OF_TENANT = `(SELECT id FROM delivery_logs WHERE tenant = ? AND copy = ${LIVE})`;
const WEBHOOK = `SELECT id, last_success_at, failing_since FROM delivery_webhooks WHERE log = ${OF_TENANT} AND webhook = ?`;

type WebhookRow = {
  readonly id: number;
  readonly last_success_at: string | null;
  readonly failing_since: string | null;
};

/** One entry, or undefined. */
export function readDelivery(connection: ReadConnection, tenant: string, id: string): DeliveryLogEntry | undefined {
  const sql = `SELECT entry FROM deliveries WHERE log = ${OF_TENANT} AND id = ?`;
  const [entry] = connection.column<string>(sql, [tenant, id]);
  return entry === undefined ? undefined : JSON.parse(entry);
}

/** The entries of a page, each as JSON text. */
export function listDeliveries(connection: ReadConnection, tenant: string, query: DeliveryQuery): readonly string[] {
  return connection.inSnapshot(() => {
    const [webhook] = connection.all<WebhookRow>(WEBHOOK, [tenant, query.webhookId]);
    if (webhook === undefined) return [];
    const { sql, cells } = pageOf(webhook.id, query);
    return connection.column<string>(sql, cells);
  });
}

/** Conditions that the index does not look up are tested on its entries, without fetching rows: 100 ms at 1,000,000. */
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

/** Open deliveries, by webhook. */
export function readBacklog(connection: ReadConnection): readonly DeliveryBacklog[] {
  const waiting = (what: string) =>
    `(SELECT ${what} FROM deliveries INDEXED BY deliveries_state WHERE webhook = w.id AND state = 'open'`;
  return connection
    .all<{ tenant: string; webhook: string; open: number; oldest: number | null }>(
      `SELECT l.tenant, w.webhook, ${waiting('count(*)')}) AS open,
         ${waiting('requested_at')} ORDER BY position LIMIT 1) AS oldest
       FROM delivery_logs AS l JOIN delivery_webhooks AS w ON w.log = l.id WHERE l.copy = ${LIVE}`,
    )
    .flatMap(({ tenant, webhook, open, oldest }) =>
      oldest === null ? [] : [{ tenant, webhookId: webhook, open, oldestRequestedAt: timeText(oldest) }],
    );
}

export function readHealth(connection: ReadConnection, tenant: string, webhookId: string): WebhookHealth {
  const [row] = connection.all<WebhookRow>(WEBHOOK, [tenant, webhookId]);
  return row === undefined ? UNTRIED : { lastSuccessAt: row.last_success_at, failingSince: row.failing_since };
}

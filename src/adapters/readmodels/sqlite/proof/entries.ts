/** Order histories and delivery logs as they are proven, each in the order of keys. */
import type Database from 'better-sqlite3';
import type { DeliveryLogEntry } from '../../../../ports/deliveryLog.js';
import type { HistoryEntry } from '../../../../ports/orderHistory.js';
import { type EntryRow, entryComparison } from '../../shared/entryProof.js';
import { columnsOf } from '../deliveries.js';

/** The digits of the largest revision, so that keys sort as rows do. */
const REVISION_DIGITS = 16;

export function* historyRows(db: Database.Database, history: number, after = ' '): Generator<EntryRow> {
  const [orderId = '', afterRevision = ''] = after.split(' ');
  const statement = db.prepare<[number, string, number], [orderId: string, revision: number, entry: string]>(
    `SELECT order_id, revision, entry FROM history_entries
     WHERE history = ? AND (order_id, revision) > (?, ?) ORDER BY order_id, revision`,
  );
  for (const [order, revision, entry] of statement.raw().iterate(history, orderId, Number(afterRevision))) {
    const key = `${order} ${String(revision).padStart(REVISION_DIGITS, '0')}`;
    yield { key, place: 'history_entries', record: `${order} ${revision}`, entry, beside: { revision } };
  }
}

export const historyComparison = () => entryComparison(({ revision }: HistoryEntry) => ({ revision }));

type StoredDelivery = ReturnType<typeof columnsOf> & { readonly webhookId: string | null; readonly entry: string };

export function* deliveryRows(db: Database.Database, log: number, after = ''): Generator<EntryRow> {
  const statement = db.prepare<[number, string], StoredDelivery>(
    `SELECT d.id, d.position, d.revision, d.state, d.kind, d.order_id AS orderId, d.requested_at AS requestedAt,
       d.ended_at AS endedAt, d.entry, w.webhook AS webhookId
     FROM deliveries AS d LEFT JOIN delivery_webhooks AS w ON w.id = d.webhook AND w.log = d.log
     WHERE d.log = ? AND d.id > ? ORDER BY d.id`,
  );
  for (const row of statement.iterate(log, after)) {
    yield { key: row.id, place: 'deliveries', record: row.id, entry: row.entry, beside: row };
  }
}

/** @param droppedBefore see `entryComparison` */
export const deliveryComparison = (droppedBefore?: string) =>
  entryComparison((entry: DeliveryLogEntry) => ({ ...columnsOf(entry), webhookId: entry.webhookId }), droppedBefore);

/** The health of each webhook: a few for each tenant. */
export function* webhookRows(db: Database.Database, log: number): Generator<EntryRow> {
  const statement = db.prepare<[number], { readonly webhook: string }>(
    'SELECT webhook, last_success_at, failing_since FROM delivery_webhooks WHERE log = ? ORDER BY webhook',
  );
  for (const { webhook, ...beside } of statement.iterate(log)) {
    yield { key: webhook, place: 'delivery_webhooks', record: webhook, beside };
  }
}

/** Order histories, delivery logs and activity as they are proven, each in the order of keys. */

import type { ActivityEntry } from '../../../../ports/activity.js';
import type { DeliveryLogEntry } from '../../../../ports/deliveryLog.js';
import type { HistoryEntry } from '../../../../ports/orderHistory.js';
import type { RebuildScope } from '../../../../ports/readModelWriter.js';
import type { Database } from '../../../openSqlite.js';
import { ACTIVITY_KEYS, columnsOf as activityColumnsOf, provenText } from '../../shared/activity.js';
import { type EntryRow, entryComparison, padded } from '../../shared/entryProof.js';
import { COLUMNS } from '../activity.js';
import { columnsOf } from '../deliveries.js';

function* historyRows(db: Database, history: number, after = ' '): Generator<EntryRow> {
  const [orderId = '', afterRevision = ''] = after.split(' ');
  const statement = db.prepare<[number, string, number], [orderId: string, revision: number, entry: string]>(
    `SELECT order_id, revision, entry FROM history_entries
     WHERE history = ? AND (order_id, revision) > (?, ?) ORDER BY order_id, revision`,
  );
  for (const [order, revision, entry] of statement.raw().iterate(history, orderId, Number(afterRevision))) {
    const key = `${order} ${padded(revision)}`;
    yield { key, place: 'history_entries', record: `${order} ${revision}`, entry, beside: { revision } };
  }
}

const historyComparison = () => entryComparison(({ revision }: HistoryEntry) => ({ revision }));

type StoredDelivery = ReturnType<typeof columnsOf> & { readonly webhookId: string | null; readonly entry: string };

function* deliveryRows(db: Database, log: number, after = ''): Generator<EntryRow> {
  const statement = db.prepare<[number, string], StoredDelivery>(
    `SELECT d.id, d.position, d.revision, d.state, d.kind, d.order_id AS orderId, d.sequence,
       d.requested_at AS requestedAt, d.ended_at AS endedAt, d.entry, w.webhook AS webhookId
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
export function* webhookRows(db: Database, log: number): Generator<EntryRow> {
  const statement = db.prepare<[number], { readonly webhook: string }>(
    'SELECT webhook, last_success_at, failing_since FROM delivery_webhooks WHERE log = ? ORDER BY webhook',
  );
  for (const { webhook, ...beside } of statement.iterate(log)) {
    yield { key: webhook, place: 'delivery_webhooks', record: webhook, beside };
  }
}

type StoredActivity = ReturnType<typeof activityColumnsOf> & { readonly entry: string };

/** By time, so that keys sort as rows do. */
function* activityRows(db: Database, owner: number, after = ''): Generator<EntryRow> {
  const [at = 0, position = 0, revision = -1] = after === '' ? [] : after.split(' ').map(Number);
  const statement = db.prepare<number[], StoredActivity>(
    `SELECT at, position, revision, ${ACTIVITY_KEYS.map((key) => `${COLUMNS[key]} AS ${key}`).join(', ')}, entry
     FROM activity_entries INDEXED BY activity_time
     WHERE owner = ? AND (at, position, revision) > (?, ?, ?) ORDER BY at, position, revision`,
  );
  for (const { entry, ...beside } of statement.iterate(owner, at, position, revision)) {
    const key = [beside.at, beside.position, beside.revision].map(padded).join(' ');
    const record = `${beside.position} ${beside.revision}`;
    yield { key, place: 'activity_entries', record, entry: provenText(entry), beside };
  }
}

const activityComparison = () => entryComparison((entry: ActivityEntry) => activityColumnsOf(entry));

/** Rows and comparison of a projection that has entries. */
export function entriesOf(projection: Exclude<RebuildScope['projection'], 'records'>, droppedBefore?: string) {
  switch (projection) {
    case 'order_history':
      return { rows: historyRows, comparison: historyComparison() };
    case 'deliveries':
      return { rows: deliveryRows, comparison: deliveryComparison(droppedBefore) };
    case 'activity':
      return { rows: activityRows, comparison: activityComparison() };
  }
}

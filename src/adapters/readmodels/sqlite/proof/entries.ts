/** The proof of histories of orders and of delivery logs: each entry and the columns beside it. */
import type Database from 'better-sqlite3';
import type { DeliveryLogEntry } from '../../../../ports/deliveryLog.js';
import { instant } from '../../shared/deliveryLog.js';
import { type Comparison, type Finding, isStored, parsed, saySame } from '../../shared/proof.js';
import { type DeliveryRow, rowOf } from '../deliveries.js';

export type HistoryRow = { readonly key: string; readonly entry: string };

/** The digits of the largest revision, so that keys sort as rows do. */
const REVISION_DIGITS = 16;

export function* historyRows(db: Database.Database, history: number, after = ' '): Generator<HistoryRow> {
  const [orderId = '', revision = ''] = after.split(' ');
  const statement = db.prepare<[number, string, number], [orderId: string, revision: number, entry: string]>(
    `SELECT order_id, revision, entry FROM history_entries
     WHERE history = ? AND (order_id, revision) > (?, ?) ORDER BY order_id, revision`,
  );
  for (const [order, number, entry] of statement.raw().iterate(history, orderId, Number(revision))) {
    yield { key: `${order} ${String(number).padStart(REVISION_DIGITS, '0')}`, entry };
  }
}

function nameOfEntry({ key }: HistoryRow): string {
  const [orderId, revision] = key.split(' ');
  return `${orderId} ${Number(revision)}`;
}

export const historyComparison: Comparison<HistoryRow> = {
  place: 'history_entries',
  nameOf: nameOfEntry,
  changed: (live, copy) => (saySame(live.entry, copy.entry) ? [] : ['the entry']),
  itself(row) {
    const entry = parsed(row.entry);
    const isOwn = typeof entry === 'object' && entry !== null && 'revision' in entry;
    const fits = isOwn && Number(entry.revision) === Number(row.key.split(' ')[1]);
    if (fits) return [];
    const detail = isOwn ? 'It is stored under another revision than its own.' : 'The entry is no JSON of an entry.';
    return [{ place: 'history_entries', record: nameOfEntry(row), kind: 'different', detail }];
  },
};

export type StoredDelivery = DeliveryRow & { readonly key: string; readonly webhookId: string | null };

export function* deliveryRows(db: Database.Database, log: number, after = ''): Generator<StoredDelivery> {
  const statement = db.prepare<[number, string], StoredDelivery>(
    `SELECT d.id AS key, d.log, d.id, d.webhook, d.position, d.revision, d.state, d.kind, d.order_id AS orderId,
       d.requested_at AS requestedAt, d.ended_at AS endedAt, d.entry, w.webhook AS webhookId
     FROM deliveries AS d LEFT JOIN delivery_webhooks AS w ON w.id = d.webhook AND w.log = d.log
     WHERE d.log = ? AND d.id > ? ORDER BY d.id`,
  );
  yield* statement.iterate(log, after);
}

/** @param droppedBefore deliveries that ended before this time may be missing from the served log */
export const deliveryComparison = (droppedBefore: string | undefined): Comparison<StoredDelivery> => ({
  place: 'deliveries',
  nameOf: ({ id }) => id,
  changed: (live, copy) => (saySame(live.entry, copy.entry) ? [] : ['the entry']),
  itself(row) {
    const find = (detail: string): readonly Finding[] => [
      { place: 'deliveries', record: row.id, kind: 'different', detail },
    ];
    const entry = parsed(row.entry) as DeliveryLogEntry | undefined;
    if (entry === undefined) return find('The entry is no JSON.');
    const wanted = { ...rowOf(entry, row.log, row.webhook), webhookId: entry.webhookId };
    const wrong = (
      ['id', 'position', 'revision', 'state', 'kind', 'orderId', 'requestedAt', 'endedAt', 'webhookId'] as const
    ).filter((name) => !isStored(wanted[name], row[name]));
    return wrong.length === 0 ? [] : find(`Columns that do not fit the entry: ${wrong.join(', ')}.`);
  },
  mayBeMissing: ({ endedAt }) => droppedBefore !== undefined && endedAt !== null && endedAt < instant(droppedBefore),
});

export type WebhookRow = {
  readonly key: string;
  readonly lastSuccessAt: string | null;
  readonly failingSince: string | null;
};

/** The health of each webhook: a few for each tenant. */
export const webhookRows = (db: Database.Database, log: number): readonly WebhookRow[] =>
  db
    .prepare<[number], WebhookRow>(
      `SELECT webhook AS key, last_success_at AS lastSuccessAt, failing_since AS failingSince
       FROM delivery_webhooks WHERE log = ? ORDER BY webhook`,
    )
    .all(log);

export const webhookComparison: Comparison<WebhookRow> = {
  place: 'delivery_webhooks',
  nameOf: ({ key }) => key,
  changed: (live, copy) => [
    ...(live.lastSuccessAt === copy.lastSuccessAt ? [] : ['last_success_at']),
    ...(live.failingSince === copy.failingSince ? [] : ['failing_since']),
  ],
  itself: () => [],
};

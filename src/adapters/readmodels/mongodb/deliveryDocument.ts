/** How the delivery log of a tenant is stored: a document for each delivery, and one for each webhook. */
import type { Collection, Db, Filter, IndexDescription } from 'mongodb';
import type { DeliveryLogEntry, DeliveryQuery, WebhookHealth } from '../../../ports/deliveryLog.js';
import { instant, UNTRIED } from '../shared/deliveryLog.js';
import type { CatalogEntry } from './catalog.js';

export type DeliveryDocument = {
  /** `d.<delivery id>` */
  readonly _id: string;
  /** Id of the webhook, position and revision of the entry, kind, state, id of the order. */
  readonly w: string;
  readonly p: number;
  readonly r: number;
  readonly k: string;
  readonly s: string;
  readonly o: string | null;
  /** When it was requested and when it ended, in microseconds; null while it is open. */
  readonly a: number;
  readonly x: number | null;
  /** The entry as JSON text. */
  readonly e: string;
};

export type WebhookDocument = {
  /** `w.<webhook id>` */
  readonly _id: string;
  /** Its last success, and since when it has been failing. */
  readonly ok: string | null;
  readonly bad: string | null;
};

export type LogDocument = DeliveryDocument | WebhookDocument;

/** One collection, seen as what is looked for. */
export const deliveriesOf = (db: Db, { collection }: CatalogEntry): Collection<DeliveryDocument> =>
  db.collection<DeliveryDocument>(collection);
export const webhooksOf = (db: Db, { collection }: CatalogEntry): Collection<WebhookDocument> =>
  db.collection<WebhookDocument>(collection);

export const DELIVERY_INDEXES: readonly IndexDescription[] = [
  { name: 'webhook', key: { w: 1, p: 1 } },
  { name: 'state', key: { s: 1, w: 1, p: 1 } },
  { name: 'order', key: { o: 1, p: 1 } },
  { name: 'ended', key: { x: 1 } },
];

export const deliveryKey = (id: string): string => `d.${id}`;
export const webhookKey = (id: string): string => `w.${id}`;

export const deliveryDocument = (entry: DeliveryLogEntry): DeliveryDocument => ({
  _id: deliveryKey(entry.id),
  w: entry.webhookId,
  p: entry.position,
  r: entry.revision,
  k: entry.kind,
  s: entry.state,
  o: entry.orderId,
  a: instant(entry.requestedAt),
  x: entry.endedAt === null ? null : instant(entry.endedAt),
  e: JSON.stringify(entry),
});

export const entryOf = ({ e }: Pick<DeliveryDocument, 'e'>): DeliveryLogEntry => JSON.parse(e);

export const healthOf = (document: Pick<WebhookDocument, 'ok' | 'bad'> | null | undefined): WebhookHealth =>
  document ? { lastSuccessAt: document.ok, failingSince: document.bad } : UNTRIED;

export function deliveryFilter(query: DeliveryQuery): Filter<DeliveryDocument> {
  const { webhookId, state, kind, orderId, since, until, order, after } = query;
  return {
    w: webhookId,
    ...(state === undefined ? {} : { s: state }),
    ...(kind === undefined ? {} : { k: kind }),
    ...(orderId === undefined ? {} : { o: orderId }),
    ...(since === undefined && until === undefined
      ? {}
      : { a: { ...(since && { $gte: instant(since) }), ...(until && { $lt: instant(until) }) } }),
    ...(after === undefined ? {} : { p: order === 'oldest' ? { $gt: after } : { $lt: after } }),
  };
}

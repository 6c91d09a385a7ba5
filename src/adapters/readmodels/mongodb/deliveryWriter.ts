/** Writes changes of a tenant's delivery log. Every write leaves the same behind when it is repeated. */
import type { Db } from 'mongodb';
import type { DeliveryLogEntry } from '../../../ports/deliveryLog.js';
import { healthAfter, instant } from '../shared/deliveryLog.js';
import { type CatalogEntry, catalogOf } from './catalog.js';
import type { CatalogWriter } from './catalogWriter.js';
import {
  deliveriesOf,
  deliveryDocument,
  deliveryKey,
  entryOf,
  healthOf,
  type WebhookDocument,
  webhookKey,
  webhooksOf,
} from './deliveryDocument.js';
import type { DeliveryChanges } from './pendingChanges.js';

export async function writeDeliveries(
  db: Db,
  catalog: CatalogWriter,
  tenant: string,
  { put, dropped }: DeliveryChanges,
): Promise<void> {
  const log = await catalog.ofTenant(db, 'deliveries', tenant);
  await catalog.change(db, log, { applying: true });
  if (put.size > 0) await putEntries(db, log.entry, [...put.values()]);
  if (dropped.size > 0) await deliveriesOf(db, log.entry).deleteMany({ _id: { $in: [...dropped].map(deliveryKey) } });
  await catalog.change(db, log, { applying: false });
  for (const entry of put.values()) catalog.keepDelivery(tenant, entry);
}

/**
 * The health of webhooks first, in order: an entry that a crash has left behind is not put again, so what it says
 * of the webhook must be there before it.
 */
async function putEntries(db: Db, log: CatalogEntry, entries: readonly DeliveryLogEntry[]): Promise<void> {
  const webhookIds = [...new Set(entries.map(({ webhookId }) => webhookId))];
  const webhooks = await webhooksOf(db, log)
    .find({ _id: { $in: webhookIds.map(webhookKey) } })
    .toArray();
  const healths = webhookIds.map((webhookId): WebhookDocument => {
    const _id = webhookKey(webhookId);
    const before = healthOf(webhooks.find((each) => each._id === _id));
    const own = entries.filter((entry) => entry.webhookId === webhookId);
    const { lastSuccessAt, failingSince } = own.reduce(healthAfter, before);
    return { _id, ok: lastSuccessAt, bad: failingSince };
  });
  await webhooksOf(db, log).bulkWrite(healths.map(upsert), { ordered: true });

  const stored = await deliveriesOf(db, log)
    .find({ _id: { $in: entries.map(({ id }) => deliveryKey(id)) } }, { projection: { r: 1 } })
    .toArray();
  const revisions = new Map(stored.map(({ _id, r }) => [_id, r]));
  const later = entries.map(deliveryDocument).filter(({ _id, r }) => r > (revisions.get(_id) ?? -1));
  if (later.length > 0) await deliveriesOf(db, log).bulkWrite(later.map(upsert), { ordered: false });
}

const upsert = <Stored extends { readonly _id: string }>(replacement: Stored) => ({
  replaceOne: { filter: { _id: replacement._id }, replacement, upsert: true },
});

/** An entry as the writer last wrote it. */
export async function writtenDelivery(
  db: Db,
  catalog: CatalogWriter,
  tenant: string,
  id: string,
): Promise<DeliveryLogEntry | undefined> {
  const known = catalog.knownDelivery(tenant, id);
  if (known !== undefined) return known;
  const { entry } = await catalog.ofTenant(db, 'deliveries', tenant);
  const found = entry.made ? await deliveriesOf(db, entry).findOne({ _id: deliveryKey(id) }) : null;
  return found === null ? undefined : entryOf(found);
}

/** Ids of at most `limit` entries that ended before this time, by tenant. */
export async function endedDeliveries(
  db: Db,
  endedBefore: string,
  limit: number,
): Promise<readonly { readonly tenant: string; readonly ids: readonly string[] }[]> {
  const logs = await catalogOf(db).find({ kind: 'deliveries', rebuild: null, made: true }).toArray();
  const found: { tenant: string; ids: string[] }[] = [];
  let left = limit;
  for (const log of logs) {
    if (left === 0) break;
    const ended = await deliveriesOf(db, log)
      .find({ x: { $lt: instant(endedBefore) } }, { projection: { e: 1 }, sort: { x: 1 }, limit: left })
      .toArray();
    if (ended.length > 0) found.push({ tenant: log.tenant, ids: ended.map((each) => entryOf(each).id) });
    left -= ended.length;
  }
  return found;
}

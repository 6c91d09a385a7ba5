/** Writes and reads the delivery log of a tenant: a document for each delivery and each webhook. */
import type { Filter } from 'mongodb';
import type {
  DeliveryBacklog,
  DeliveryLog,
  DeliveryLogEntry,
  DeliveryQuery,
  OrderDeliveryQuery,
} from '../../../ports/deliveryLog.js';
import { MismatchError } from '../../../ports/readModelWriter.js';
import { healthAfter, instant, UNTRIED } from '../shared/deliveryLog.js';
import { type CatalogEntry, catalogOf, tenantEntryId } from './catalog.js';
import type { CatalogWriter, OpenTable } from './catalogWriter.js';
import type { LaneDb } from './connection.js';
import { type MongoConnection, whileWanted } from './connection.js';
import type { Part, Refused } from './part.js';
import type { TableReader } from './tableReader.js';

type DeliveryDocument = {
  /** `d.<delivery id>` */
  readonly _id: string;
  /** Id of the webhook, position and revision of the entry, kind, state, id of the order. */
  readonly w: string;
  readonly p: number;
  readonly r: number;
  readonly k: string;
  readonly s: string;
  readonly o: string | null;
  /** Revision of the event that it tells of. */
  readonly q: number;
  /** Times of the request and the end, in microseconds; the end is null while it is open. */
  readonly a: number;
  readonly x: number | null;
  /** The entry as JSON text. */
  readonly e: string;
};

type WebhookDocument = {
  /** `w.<webhook id>` */
  readonly _id: string;
  /** Times of its last success, and since when it has been failing. */
  readonly ok: string | null;
  readonly bad: string | null;
};

/** One collection, by the type of its documents. */
const deliveriesOf = (db: LaneDb, log: CatalogEntry): Part<DeliveryDocument> => db.part<DeliveryDocument>(log);
const webhooksOf = (db: LaneDb, log: CatalogEntry): Part<WebhookDocument> => db.part<WebhookDocument>(log);

const deliveryKey = (id: string): string => `d.${id}`;
const webhookKey = (id: string): string => `w.${id}`;

/** The values stored beside an entry. */
export const keysOf = (entry: DeliveryLogEntry): Omit<DeliveryDocument, 'e'> => ({
  _id: deliveryKey(entry.id),
  w: entry.webhookId,
  p: entry.position,
  r: entry.revision,
  k: entry.kind,
  s: entry.state,
  o: entry.orderId,
  q: entry.sequence,
  a: instant(entry.requestedAt),
  x: entry.endedAt === null ? null : instant(entry.endedAt),
});

const documentOf = (entry: DeliveryLogEntry): DeliveryDocument => ({ ...keysOf(entry), e: JSON.stringify(entry) });

const entryOf = ({ e }: Pick<DeliveryDocument, 'e'>): DeliveryLogEntry => JSON.parse(e);

const healthOf = (document: WebhookDocument | null | undefined) =>
  document ? { lastSuccessAt: document.ok, failingSince: document.bad } : UNTRIED;

/** The changes of one transaction in a tenant's delivery log. */
export type DeliveryChanges = {
  /** By id, in their last state. */
  readonly put: Map<string, DeliveryLogEntry>;
  /** All their states, in order: the health of webhooks follows from them. */
  readonly states: DeliveryLogEntry[];
  readonly dropped: Set<string>;
};

/** Every write is idempotent. The log is announced before, and finished by the caller. */
export async function writeDeliveries(
  db: LaneDb,
  catalog: CatalogWriter,
  { entry: log }: OpenTable,
  { put, states, dropped }: DeliveryChanges,
): Promise<void> {
  if (put.size > 0) await putEntries(db, log, [...put.values()], states);
  if (dropped.size > 0) await deliveriesOf(db, log).deleteMany({ _id: { $in: [...dropped].map(deliveryKey) } });
  for (const entry of put.values()) catalog.keepDelivery(log.tenant, entry);
}

/**
 * The health of webhooks comes first: an entry that was written before a crash is not written again, so its effect on the
 * webhook's health must be stored before it.
 */
async function putEntries(
  db: LaneDb,
  log: CatalogEntry,
  entries: readonly DeliveryLogEntry[],
  states: readonly DeliveryLogEntry[],
): Promise<void> {
  const webhookIds = [...new Set(entries.map(({ webhookId }) => webhookId))];
  const webhooks = await webhooksOf(db, log)
    .find({ _id: { $in: webhookIds.map(webhookKey) } })
    .toArray();
  const healths = webhookIds.map((webhookId): WebhookDocument => {
    const _id = webhookKey(webhookId);
    const before = healthOf(webhooks.find((each) => each._id === _id));
    const own = states.filter((entry) => entry.webhookId === webhookId);
    const { lastSuccessAt, failingSince } = own.reduce(healthAfter, before);
    return { _id, ok: lastSuccessAt, bad: failingSince };
  });
  const refused: Refused = (_id, options) =>
    new MismatchError({ tenant: log.tenant, projection: 'deliveries', refused: `entry ${_id}` }, options);
  await webhooksOf(db, log).bulkWrite(healths.map(upsert), { ordered: true, refused });

  const stored = await deliveriesOf(db, log)
    .find({ _id: { $in: entries.map(({ id }) => deliveryKey(id)) } }, { projection: { r: 1 } })
    .toArray();
  const revisions = new Map(stored.map(({ _id, r }) => [_id, r]));
  const later = entries.map(documentOf).filter(({ _id, r }) => r > (revisions.get(_id) ?? -1));
  await deliveriesOf(db, log).bulkWrite(later.map(upsert), { ordered: false, refused });
}

const upsert = <Stored extends { readonly _id: string }>(replacement: Stored) => ({
  replaceOne: { filter: { _id: replacement._id }, replacement, upsert: true },
});

/** An entry as the writer wrote it last. */
export async function writtenDelivery(
  db: LaneDb,
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

/** Tenants whose delivery logs one call looks through, at a millisecond or two each. Nothing is projected meanwhile. */
const TENANTS_ASKED = 50;

/**
 * Ids of at most `limit` entries that ended before this time, by tenant; looks at some tenants only.
 * @param after where the call before ended
 * @returns `next` for the next call
 */
export async function endedDeliveries(
  db: LaneDb,
  endedBefore: string,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<{ readonly ended: ReadonlyMap<string, readonly string[]>; readonly next: string }> {
  const logs = await catalogOf(db)
    .find(
      { kind: 'deliveries', rebuild: null, made: true, _id: { $gt: after } },
      { sort: { _id: 1 }, limit: TENANTS_ASKED },
    )
    .toArray();
  const found = new Map<string, readonly string[]>();
  let left = limit;
  let next = after;
  for (const log of logs) {
    const ended = await deliveriesOf(db, log)
      .find({ x: { $lt: instant(endedBefore) } }, { projection: { e: 1 }, sort: { x: 1 }, limit: left })
      .toArray();
    if (ended.length > 0) {
      found.set(
        log.tenant,
        ended.map((each) => entryOf(each).id),
      );
    }
    left -= ended.length;
    // This log may have more.
    if (left === 0) return { ended: found, next };
    next = log._id;
  }
  return { ended: found, next: logs.length < TENANTS_ASKED ? '' : next };
}

/** The reads of the delivery log. */
export function deliveryReads(connection: MongoConnection, tables: TableReader): Omit<DeliveryLog, 'waitFor'> {
  /** Undefined if nothing was ever written. */
  const read = async <Result>(tenant: string, work: (db: LaneDb, log: CatalogEntry) => Promise<Result>) =>
    (await tables.read(tenantEntryId('deliveries', tenant), ({ db, entry }) => work(db, entry)))?.result;

  return {
    delivery: (tenant, id) =>
      read(tenant, async (db, log) => {
        const found = await deliveriesOf(db, log).findOne({ _id: deliveryKey(id) });
        return found === null ? undefined : entryOf(found);
      }),

    async deliveries(tenant, query, cancellation) {
      const entries = await read(tenant, async (db, log) => {
        const { limit } = query;
        const options = {
          ...whileWanted(cancellation),
          sort: sortOf(query),
          limit,
          batchSize: limit,
          projection: { e: 1 },
        };
        return (await deliveriesOf(db, log).find(filterOf(query), options).toArray()).map(entryOf);
      });
      return entries ?? [];
    },

    async deliveriesOfOrder(tenant, query, cancellation) {
      const entries = await read(tenant, async (db, log) => {
        const { limit } = query;
        const page = { sort: { q: 1, p: 1 }, limit, batchSize: limit, projection: { e: 1 } } as const;
        const found = deliveriesOf(db, log).find(filterOfOrder(query), { ...whileWanted(cancellation), ...page });
        return (await found.toArray()).map(entryOf);
      });
      return entries ?? [];
    },

    async deliveryBacklog() {
      const logs = await connection.run((db) =>
        catalogOf(db)
          .find({ kind: 'deliveries', rebuild: null }, { projection: { tenant: 1 } })
          .toArray(),
      );
      const backlogs = logs.map(({ tenant }) => read(tenant, (db, log) => waiting(deliveriesOf(db, log), tenant)));
      return (await Promise.all(backlogs)).flatMap((backlog) => backlog ?? []);
    },

    webhookHealth: async (tenant, webhookId) =>
      healthOf(await read(tenant, (db, log) => webhooksOf(db, log).findOne({ _id: webhookKey(webhookId) }))),
  };
}

const sortOf = ({ order }: DeliveryQuery) => ({ p: order === 'oldest' ? 1 : -1 }) as const;

function filterOf(query: DeliveryQuery): Filter<DeliveryDocument> {
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

const filterOfOrder = ({ orderId, behind, to }: OrderDeliveryQuery): Filter<DeliveryDocument> => ({
  o: orderId,
  // The event at the place has deliveries before and behind it: only those behind count. All deliveries of later events count.
  $or: [{ q: behind.sequence, p: { $gt: behind.position } }, { q: { $gt: behind.sequence, $lte: to } }],
});

async function waiting(deliveries: Part<DeliveryDocument>, tenant: string): Promise<readonly DeliveryBacklog[]> {
  const counts = await deliveries.countBy('w', { s: 'open' });
  const backlogs = counts.map(async ({ _id: webhookId, n: open }) => {
    const oldest = await deliveries.findOne({ s: 'open', w: webhookId }, { sort: { p: 1 }, projection: { e: 1 } });
    return oldest === null ? [] : [{ tenant, webhookId, open, oldestRequestedAt: entryOf(oldest).requestedAt }];
  });
  return (await Promise.all(backlogs)).flat();
}

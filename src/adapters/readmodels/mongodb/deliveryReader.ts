/** Reads of the delivery log. */
import type { Db } from 'mongodb';
import type { DeliveryBacklog, DeliveryLogEntry, DeliveryQuery, WebhookHealth } from '../../../ports/deliveryLog.js';
import { catalogOf, tenantEntryId } from './catalog.js';
import type { MongoConnection } from './connection.js';
import {
  deliveriesOf,
  deliveryFilter,
  deliveryKey,
  entryOf,
  healthOf,
  webhookKey,
  webhooksOf,
} from './deliveryDocument.js';
import type { ReadTable, TableReader } from './tableReader.js';

export class DeliveryReader {
  readonly #connection: MongoConnection;
  readonly #tables: TableReader;

  constructor(connection: MongoConnection, tables: TableReader) {
    this.#connection = connection;
    this.#tables = tables;
  }

  async one(tenant: string, id: string): Promise<DeliveryLogEntry | undefined> {
    return this.#read(tenant, async (db, { entry }) => {
      const found = await deliveriesOf(db, entry).findOne({ _id: deliveryKey(id) });
      return found === null ? undefined : entryOf(found);
    });
  }

  async page(tenant: string, query: DeliveryQuery): Promise<readonly DeliveryLogEntry[]> {
    const { order, limit } = query;
    const entries = await this.#read(tenant, async (db, { entry }) => {
      const sort = { p: order === 'oldest' ? 1 : -1 } as const;
      const options = { sort, limit, batchSize: limit, projection: { e: 1 } };
      return (await deliveriesOf(db, entry).find(deliveryFilter(query), options).toArray()).map(entryOf);
    });
    return entries ?? [];
  }

  async health(tenant: string, webhookId: string): Promise<WebhookHealth> {
    const health = await this.#read(tenant, async (db, { entry }) =>
      healthOf(await webhooksOf(db, entry).findOne({ _id: webhookKey(webhookId) })),
    );
    return health ?? healthOf(null);
  }

  async backlog(): Promise<readonly DeliveryBacklog[]> {
    const logs = await this.#connection.run((db) =>
      catalogOf(db)
        .find({ kind: 'deliveries', rebuild: null }, { projection: { tenant: 1 } })
        .toArray(),
    );
    const backlogs = logs.map(({ tenant }) =>
      this.#read(tenant, (db, { entry }) => waiting(deliveriesOf(db, entry), tenant)),
    );
    return (await Promise.all(backlogs)).flatMap((backlog) => backlog ?? []);
  }

  /** @returns undefined where nothing was ever written */
  async #read<Result>(tenant: string, work: (db: Db, table: ReadTable) => Promise<Result>) {
    return this.#connection.run(async (db) => {
      const read = await this.#tables.read(db, tenantEntryId('deliveries', tenant), (table) => work(db, table));
      return read?.result;
    });
  }
}

async function waiting(
  deliveries: ReturnType<typeof deliveriesOf>,
  tenant: string,
): Promise<readonly DeliveryBacklog[]> {
  const counts = await deliveries
    .aggregate<{ _id: string; open: number }>([{ $match: { s: 'open' } }, { $group: { _id: '$w', open: { $sum: 1 } } }])
    .toArray();
  const backlogs = counts.map(async ({ _id: webhookId, open }) => {
    const oldest = await deliveries.findOne({ s: 'open', w: webhookId }, { sort: { p: 1 }, projection: { e: 1 } });
    return oldest === null ? [] : [{ tenant, webhookId, open, oldestRequestedAt: entryOf(oldest).requestedAt }];
  });
  return (await Promise.all(backlogs)).flat();
}

/** The read side of the read models on MongoDB. */
import type { Db } from 'mongodb';
import type { TableSnapshot } from '../../../ports/decisionReads.js';
import type { DeliveryBacklog, DeliveryLogEntry, DeliveryQuery, WebhookHealth } from '../../../ports/deliveryLog.js';
import type { Position, Revision } from '../../../ports/eventStore.js';
import type { RecordJson, RecordPage, RecordQuery, StoredRecord, TableRef } from '../../../ports/readModels.js';
import type { ReadModels } from '../../../ports/readSide.js';
import { storedId } from '../shared/recordText.js';
import { historyOf, positionOf, readState, recordsEntryId, tenantEntryId } from './catalog.js';
import { CheckpointPoll } from './checkpointPoll.js';
import { MongoConnection } from './connection.js';
import { DeliveryReader } from './deliveryReader.js';
import { filterOf, type RecordFilter, sortOf } from './filters.js';
import { recordJson, storedRecord, WHOLE_RECORD, type WholeRecord } from './recordDocument.js';
import { type ReadTable, TableReader } from './tableReader.js';

const SOCKET_TIMEOUT_MS = 30_000;
/** At most so many values are named in one query. */
const VALUES_AT_ONCE = 200;
/** Behind so many records a page is found in the index alone before its records are read. */
const FAR = 1_000;

/** Opens the read side, whether the server can be reached or not: each use connects when it is needed. */
export async function openMongoReadModels(options: { readonly url: string }): Promise<ReadModels> {
  return new MongoReadModels(new MongoConnection({ url: options.url, socketTimeoutMs: SOCKET_TIMEOUT_MS }));
}

class MongoReadModels implements ReadModels {
  readonly #connection: MongoConnection;
  readonly #tables = new TableReader();
  readonly #deliveries: DeliveryReader;
  readonly #poll: CheckpointPoll;

  constructor(connection: MongoConnection) {
    this.#connection = connection;
    this.#deliveries = new DeliveryReader(connection, this.#tables);
    this.#poll = new CheckpointPoll(() => this.#connection.run(async (db) => (await readState(db))?.checkpoints ?? []));
  }

  async get(table: TableRef, id: string): Promise<RecordJson | undefined> {
    const _id = storedId(id);
    if (_id === undefined) return undefined;
    const read = await this.#connection.run((db) =>
      this.#tables.read(
        db,
        recordsEntryId(table),
        async ({ records, text }) => {
          const record = await records.findOne<WholeRecord>({ _id }, { projection: WHOLE_RECORD });
          return record === null ? undefined : recordJson(text, record);
        },
        (found) => found !== undefined,
      ),
    );
    return read?.result;
  }

  async list(table: TableRef, query: RecordQuery): Promise<RecordPage> {
    const read = await this.#read(table, (opened) => listRecords(opened, query));
    return read?.result ?? { records: [], total: 0 };
  }

  async snapshot(
    table: TableRef,
    wanted: { readonly keys: readonly string[]; readonly ids: readonly string[] },
  ): Promise<TableSnapshot> {
    const ids = wanted.ids.flatMap((id) => storedId(id) ?? []);
    const read = await this.#read(table, async (opened) => {
      const named: RecordFilter[] = [
        ...(ids.length === 0 ? [] : [{ _id: { $in: ids } }]),
        ...(wanted.keys.length === 0 || opened.layout.unique === undefined ? [] : [{ k: { $in: [...wanted.keys] } }]),
      ];
      const found = new Map<string, StoredRecord>();
      for (const filter of named) for (const each of await storedRecords(opened, filter)) found.set(each.id, each);
      return [...found.values()];
    });
    return {
      revision: read?.entry.revision ?? -1,
      lastEventAt: read?.entry.lastEventAt ?? '',
      records: read?.result ?? [],
    };
  }

  async countOutsideBatch(
    table: TableRef,
    batchId: string,
  ): Promise<{ readonly revision: Revision; readonly lastEventAt: string; readonly count: number }> {
    const read = await this.#read(
      table,
      async ({ entry, records }) => entry.count - (await records.countDocuments({ b: batchId })),
    );
    return {
      revision: read?.entry.revision ?? -1,
      lastEventAt: read?.entry.lastEventAt ?? '',
      count: read?.result ?? 0,
    };
  }

  async find(table: TableRef, field: string, values: readonly string[]): Promise<readonly StoredRecord[]> {
    const read = await this.#read(table, async (opened) => {
      const found: StoredRecord[] = [];
      for (let at = 0; at < values.length; at += VALUES_AT_ONCE) {
        const anyOf = values.slice(at, at + VALUES_AT_ONCE);
        const filter = filterOf([{ kind: 'equals', field, anyOf }], opened.layout);
        if (filter !== undefined) found.push(...(await storedRecords(opened, filter)));
      }
      return found.sort((a, b) => (a.id < b.id ? -1 : 1));
    });
    return read?.result ?? [];
  }

  #read<Result>(table: TableRef, work: (opened: ReadTable) => Promise<Result>) {
    return this.#connection.run((db) => this.#tables.read(db, recordsEntryId(table), work));
  }

  async history(
    tenant: string,
    orderId: string,
    { offset, limit }: { readonly offset: number; readonly limit: number },
  ): ReturnType<ReadModels['history']> {
    const read = await this.#connection.run((db: Db) =>
      this.#tables.read(db, tenantEntryId('history', tenant), async ({ entry }) => {
        const entries = historyOf(db, entry);
        const total = await entries.countDocuments({ o: orderId });
        const page = entries.find({ o: orderId }, { sort: { n: 1 }, skip: offset, limit, batchSize: limit });
        return { entries: (await page.toArray()).map(({ e }) => JSON.parse(e)), total };
      }),
    );
    return read?.result ?? { entries: [], total: 0 };
  }

  async delivery(tenant: string, id: string): Promise<DeliveryLogEntry | undefined> {
    return this.#deliveries.one(tenant, id);
  }

  async deliveries(tenant: string, query: DeliveryQuery): Promise<readonly DeliveryLogEntry[]> {
    return this.#deliveries.page(tenant, query);
  }

  async deliveryBacklog(): Promise<readonly DeliveryBacklog[]> {
    return this.#deliveries.backlog();
  }

  async webhookHealth(tenant: string, webhookId: string): Promise<WebhookHealth> {
    return this.#deliveries.health(tenant, webhookId);
  }

  async checkpoint(projection: string): Promise<Position> {
    return this.#connection.run(async (db) => positionOf((await readState(db))?.checkpoints, projection));
  }

  async waitFor(projection: string, position: Position, timeoutMs: number): Promise<boolean> {
    return this.#poll.waitFor(projection, position, timeoutMs);
  }

  async close(): Promise<void> {
    this.#poll.close();
    await this.#connection.close();
  }
}

async function listRecords({ entry, records, layout, text }: ReadTable, query: RecordQuery): Promise<RecordPage> {
  const filter = filterOf(query.filters, layout);
  const sort = sortOf(query.sort, layout);
  if (filter === undefined) return { records: [], total: 0 };
  const { offset: skip, limit } = query;
  const options = { sort, batchSize: limit, projection: WHOLE_RECORD };
  const isAll = query.filters.length === 0;
  const find = async (): Promise<WholeRecord[]> => {
    if (isAll && skip >= entry.count) return [];
    if (!isAll || skip < FAR) return records.find<WholeRecord>(filter, { ...options, skip, limit }).toArray();
    const page = await records.find({}, { sort, skip, limit, batchSize: limit, projection: { _id: 1 } }).toArray();
    return records.find<WholeRecord>({ _id: { $in: page.map(({ _id }) => _id) } }, options).toArray();
  };
  const page = await find();
  const total = isAll ? entry.count : await totalOf(records, filter, query, page.length);
  return { records: page.map((record) => recordJson(text, record)), total };
}

/** A page that is not full is the last one, and tells how many there are. */
async function totalOf(
  records: ReadTable['records'],
  filter: RecordFilter,
  { offset, limit }: RecordQuery,
  found: number,
): Promise<number> {
  const isLast = found < limit && (found > 0 || offset === 0);
  return isLast ? offset + found : records.countDocuments(filter);
}

async function storedRecords({ records, text }: ReadTable, filter: RecordFilter): Promise<readonly StoredRecord[]> {
  const found = records.find<WholeRecord>(filter, { projection: WHOLE_RECORD, batchSize: 1_000 });
  return (await found.toArray()).map((record) => storedRecord(text, record));
}

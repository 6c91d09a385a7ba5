/** The read side of the embedded read models. */

import type { TableSnapshot } from '../../../ports/decisionReads.js';
import type { DeliveryBacklog, DeliveryLogEntry, DeliveryQuery, WebhookHealth } from '../../../ports/deliveryLog.js';
import type { Position } from '../../../ports/eventStore.js';
import type { RecordJson, RecordPage, RecordQuery, StoredRecord, TableRef } from '../../../ports/readModels.js';
import type { ReadModels } from '../../../ports/readSide.js';
import { CheckpointWatch, openCheckpointChannel } from './checkpointWatch.js';
import { readDelivery, readHealth } from './deliveryReads.js';
import { type HistoryReader, historyReader } from './history.js';
import { ReadConnection } from './readConnection.js';
import { ReaderPool } from './readerPool.js';
import { getRecord, parseStoredRecords, readSnapshot } from './recordReads.js';

/** Each reader thread's, and that of the calling thread. */
const READER_CACHE_MEGABYTES = 16;
const CALLER_CACHE_MEGABYTES = 8;

/** Up to so many records are read on the calling thread: to ask another thread takes longer. */
const MAX_READ_BY_CALLER = 8;

/**
 * Opens the read side. Single records and deliveries, checkpoints and histories are read on the calling
 * thread, in microseconds; lists, counts and large look-ups in `readers` threads (default 2).
 *
 * @throws ReadModelsUnavailableError when the file cannot be opened
 */
export async function openSqliteReadModels(options: {
  readonly file: string;
  readonly readers?: number;
}): Promise<ReadModels> {
  const connection = new ReadConnection({ file: options.file, cacheMegabytes: CALLER_CACHE_MEGABYTES });
  const pool = new ReaderPool(
    { file: options.file, cacheMegabytes: READER_CACHE_MEGABYTES },
    Math.max(1, options.readers ?? 2),
  );
  return new SqliteReadModels(options.file, connection, pool);
}

class SqliteReadModels implements ReadModels {
  readonly #connection: ReadConnection;
  readonly #pool: ReaderPool;
  readonly #watch: CheckpointWatch;
  readonly #history: HistoryReader;

  constructor(file: string, connection: ReadConnection, pool: ReaderPool) {
    this.#connection = connection;
    this.#pool = pool;
    this.#history = historyReader(connection.db);
    this.#watch = new CheckpointWatch(openCheckpointChannel(file), (projection) => this.#stored(projection));
  }

  #stored(projection: string): Position {
    return this.#connection.number('SELECT position FROM checkpoints WHERE projection = ?', [projection]);
  }

  async get(table: TableRef, id: string): Promise<RecordJson | undefined> {
    return getRecord(this.#connection, table, id);
  }

  async list(table: TableRef, query: RecordQuery): Promise<RecordPage> {
    const { records, total } = await this.#pool.ask({ kind: 'list', table, query });
    return { records: records === '' ? [] : records.split('\n'), total };
  }

  async snapshot(
    table: TableRef,
    wanted: { readonly keys: readonly string[]; readonly ids: readonly string[] },
  ): Promise<TableSnapshot> {
    const isFew = wanted.keys.length + wanted.ids.length <= MAX_READ_BY_CALLER;
    const { revision, lastEventAt, records } = isFew
      ? readSnapshot(this.#connection, table, wanted)
      : await this.#pool.ask({ kind: 'snapshot', table, wanted });
    return { revision, lastEventAt, records: parseStoredRecords(records) };
  }

  async countOutsideBatch(
    table: TableRef,
    batchId: string,
  ): Promise<{ readonly revision: number; readonly lastEventAt: string; readonly count: number }> {
    return this.#pool.ask({ kind: 'countOutsideBatch', table, batchId });
  }

  async find(table: TableRef, field: string, values: readonly string[]): Promise<readonly StoredRecord[]> {
    return parseStoredRecords(await this.#pool.ask({ kind: 'find', table, field, values }));
  }

  async history(
    tenant: string,
    orderId: string,
    page: { readonly offset: number; readonly limit: number },
  ): ReturnType<ReadModels['history']> {
    return this.#history(tenant, orderId, page);
  }

  async delivery(tenant: string, id: string): Promise<DeliveryLogEntry | undefined> {
    return readDelivery(this.#connection, tenant, id);
  }

  async deliveries(tenant: string, query: DeliveryQuery): Promise<readonly DeliveryLogEntry[]> {
    return JSON.parse(await this.#pool.ask({ kind: 'deliveries', tenant, query }));
  }

  async deliveryBacklog(): Promise<readonly DeliveryBacklog[]> {
    return this.#pool.ask({ kind: 'deliveryBacklog' });
  }

  async webhookHealth(tenant: string, webhookId: string): Promise<WebhookHealth> {
    return readHealth(this.#connection, tenant, webhookId);
  }

  async checkpoint(projection: string): Promise<Position> {
    return this.#stored(projection);
  }

  async waitFor(projection: string, position: Position, timeoutMs: number): Promise<boolean> {
    return this.#watch.waitFor(projection, position, timeoutMs);
  }

  async close(): Promise<void> {
    this.#watch.close();
    await this.#pool.close();
    this.#connection.close();
  }
}

/** The read side of the embedded read models. */

import type { Position } from '../../../ports/eventStore.js';
import type { OutOfOrder } from '../../../ports/projectionProgress.js';
import { interceptReads, type Read, type ReadMethod, type ReadModels, type Reads } from '../../../ports/readSide.js';
import { mapWithPauses } from '../../../supervision/waiting.js';
import { fileNumber } from '../../damagedFiles.js';
import { activityPage } from '../shared/activity.js';
import { storedEntry } from '../shared/historyPages.js';
import { lastApprovals } from '../shared/recordText.js';
import { namingDamage, OtherSchemaVersionError, ReadModelsDamagedError } from './connections.js';
import { readDelivery, readHealth } from './deliveries.js';
import {
  ALL_OUT_OF_ORDER,
  ALL_PARKED,
  IS_OUT_OF_ORDER,
  IS_PARKED,
  LOG_ANCHOR,
  type LogAnchorRow,
  logAnchorOf,
  type ParkedRow,
  parkedOf,
} from './progress.js';
import { COSTS, type Costs } from './query/costs.js';
import type { SlowList } from './query/lister.js';
import { ReadConnection, stateOf } from './read/readConnection.js';
import { getRecord, readByIds, readSnapshot, recordsOf } from './read/recordReads.js';
import { parseStored } from './read/storedTexts.js';
import { readCleanedUpRecord, readOrderOfPart, readRecordEvents } from './recordEvents.js';
import { CheckpointWatch, openCheckpointChannel, type StoredProgress } from './threads/checkpointWatch.js';
import { ReaderPool } from './threads/readerPool.js';

/** Each reader thread's, and that of the calling thread. */
const READER_CACHE_MEGABYTES = 16;
const CALLER_CACHE_MEGABYTES = 8;
/** For rankings of large tables (ranking/ranking.ts) of all threads together: 16 of a million records. */
const RANKING_BYTES = 64 * 2 ** 20;

const PROGRESS = `SELECT
  ifnull((SELECT position FROM checkpoints WHERE projection = ?), 0), (${IS_OUT_OF_ORDER}), (${IS_PARKED})`;

/** The most records that are read on the calling thread: asking another thread takes longer than reading them. */
const MAX_READ_BY_CALLER = 8;

type Options = {
  readonly file: string;
  readonly readers?: number;
  /** Memory for rankings of large tables. */
  readonly rankingBytes?: number;
  /** Default: as measured. */
  readonly costs?: Costs;
  /** Called with each list that takes long, and how its rows were found. */
  readonly onSlowList?: (list: SlowList) => void;
};

/**
 * Opens the read side. Single records, deliveries and checkpoints are read on the calling thread, in microseconds; lists,
 * histories, counts and large look-ups in `readers` threads (default 2).
 * A file that takes the place of a damaged or outdated one is read as soon as it is there; until then reads are refused.
 *
 * @throws ReadModelsUnavailableError when the file cannot be opened, unless it is damaged or of another schema version
 */
export async function openSqliteReadModels(options: Options): Promise<ReadModels> {
  const followed = new FollowedFile(options);
  const reads = interceptReads(
    <Method extends ReadMethod>(method: Method): Read<Method> =>
      async (...asked) => {
        const { number } = followed;
        try {
          const models: Reads = followed.models;
          return await models[method](...asked);
        } catch (error) {
          throw namingDamage(options.file, error, number);
        }
      },
  );
  return { ...reads, close: () => followed.close(), replaced: () => followed.replaced };
}

/** The projector puts another file in place of it. */
const isReplacedSoon = (failure: unknown): boolean =>
  failure instanceof ReadModelsDamagedError || failure instanceof OtherSchemaVersionError;

/** Checks so often whether another file has taken the place of this one. A commit to that one tells sooner. */
const CHECK_MS = 500;

class FollowedFile {
  replaced = 0;
  readonly #options: Options;
  readonly #checking: NodeJS.Timeout;
  /** Number of the file that is open. */
  number: number | undefined;
  #opened: ReadModels | undefined;
  #failure: unknown;

  constructor(options: Options) {
    this.#options = options;
    this.#open();
    if (this.#opened === undefined && !isReplacedSoon(this.#failure)) throw this.#failure;
    this.#checking = setInterval(() => this.#check(), CHECK_MS).unref();
  }

  /** @throws what opening the file threw */
  get models(): ReadModels {
    if (this.#opened === undefined) throw this.#failure;
    return this.#opened;
  }

  async close(): Promise<void> {
    clearInterval(this.#checking);
    await this.#opened?.close();
  }

  #open(): void {
    try {
      this.#opened = openOnFile(this.#options, () => this.#check());
    } catch (error) {
      this.#opened = undefined;
      this.#failure = error;
    }
    this.number = fileNumber(this.#options.file);
  }

  #check(): void {
    const number = fileNumber(this.#options.file);
    // While a file is set aside there is none for a moment.
    if (number === undefined || number === this.number) return;
    const before = this.#opened;
    this.replaced += 1;
    this.#open();
    // Questions in work are still answered, from the file that was replaced.
    void before?.close().catch(() => undefined);
  }
}

/** @param onOtherFile see `CheckpointWatch` */
function openOnFile(options: Options, onOtherFile: () => void): ReadModels {
  const { file, readers = 2, rankingBytes = RANKING_BYTES, costs = COSTS, onSlowList = () => undefined } = options;
  const connection = new ReadConnection({ file, cacheMegabytes: CALLER_CACHE_MEGABYTES });
  const pool = new ReaderPool(
    { file, cacheMegabytes: READER_CACHE_MEGABYTES, costs },
    { size: Math.max(1, readers), rankingBytes, onSlowList },
  );
  const checkpoint = (projection: string) =>
    connection.number('SELECT position FROM checkpoints WHERE projection = ?', [projection]);
  const progress = (projection: string, position: Position, tenant = ''): StoredProgress => {
    const asked = [projection, projection, position, tenant, projection];
    const [stored, outOfOrder, parked] = connection.tuples<[number, number, number]>(PROGRESS).get(...asked) ?? [
      0, 0, 0,
    ];
    return { checkpoint: stored, isOutOfOrder: outOfOrder > 0, isParked: parked > 0 };
  };
  const watch = new CheckpointWatch(
    { channel: openCheckpointChannel(file), file: fileNumber(file), onOtherFile },
    progress,
  );

  return {
    get: async (...asked) => getRecord(connection, ...asked),

    list: (table, query, cancellation) => pool.ask({ kind: 'list', asked: [table, query] }, cancellation),

    tableState: async (table) => connection.read<string | undefined>(table, undefined, stateOf).result,

    counts: (table, field, values, cancellation) =>
      pool.ask({ kind: 'counts', asked: [table, field, values] }, cancellation),

    tableFigures: (...asked) => pool.ask({ kind: 'tableFigures', asked }),

    listBehind: (table, query, cancellation) => pool.ask({ kind: 'listBehind', asked: [table, query] }, cancellation),

    async byIds(table, ids, cancellation) {
      // Only the revision is asked for.
      if (ids.length === 0) return recordsOf(readByIds(connection, table, ids));
      return recordsOf(await pool.ask({ kind: 'byIds', asked: [table, ids] }, cancellation));
    },
    cleanedUpIds: (table, cleanUp, page, cancellation) =>
      pool.ask({ kind: 'cleanedUpIds', asked: [table, cleanUp, page] }, cancellation),

    recordEvents: async (table, id, page) => readRecordEvents(connection, table, id, page),
    orderOfPart: async (...asked) => readOrderOfPart(connection, ...asked),
    cleanedUpRecord: async (...asked) => readCleanedUpRecord(connection, ...asked),

    async snapshot(...asked) {
      const [, { keys, ids }] = asked;
      const isFew = keys.length + ids.length <= MAX_READ_BY_CALLER;
      const { records, ...at } = isFew
        ? readSnapshot(connection, ...asked)
        : await pool.ask({ kind: 'snapshot', asked });
      return { ...at, records: await parseStored(records) };
    },

    countOutsideBatch: (...asked) => pool.ask({ kind: 'countOutsideBatch', asked }),
    someOutsideBatch: async (...asked) => parseStored(await pool.ask({ kind: 'someOutsideBatch', asked })),
    async deletedRecords(...asked) {
      const page = await pool.ask({ kind: 'deletedRecords', asked });
      return { ...page, records: await parseStored(page.records) };
    },
    find: async (...asked) => parseStored(await pool.ask({ kind: 'find', asked })),

    async history(tenant, orderId, page, cancellation) {
      const { entries, total, pages, before } = await pool.ask(
        { kind: 'history', asked: [tenant, orderId, page] },
        cancellation,
      );
      return { entries: await mapWithPauses(entries, storedEntry), total, pages, before };
    },

    approvals: async (tenant, orderIds, cancellation) =>
      lastApprovals(await pool.ask({ kind: 'approvals', asked: [tenant, orderIds] }, cancellation)),

    activity: async (tenant, query, cancellation) =>
      activityPage(await pool.ask({ kind: 'activity', asked: [tenant, query] }, cancellation), query.filters),

    delivery: async (tenant, id) => readDelivery(connection, tenant, id),
    deliveries: async (tenant, query, cancellation) =>
      JSON.parse(await pool.ask({ kind: 'deliveries', asked: [tenant, query] }, cancellation)),
    deliveriesOfOrder: async (tenant, query, cancellation) =>
      JSON.parse(await pool.ask({ kind: 'deliveriesOfOrder', asked: [tenant, query] }, cancellation)),
    deliveryBacklog: () => pool.ask({ kind: 'deliveryBacklog', asked: [] }),
    webhookHealth: async (tenant, webhookId) => readHealth(connection, tenant, webhookId),
    checkpoint: async (projection) => checkpoint(projection),
    anchor: async () => logAnchorOf(connection.all<LogAnchorRow>(LOG_ANCHOR)[0]),
    checkpoints: async () =>
      new Map(
        connection
          .all<{ projection: string; position: number }>('SELECT projection, position FROM checkpoints')
          .map(({ projection, position }) => [projection, position]),
      ),
    parked: async () => connection.all<ParkedRow>(ALL_PARKED).map(parkedOf),
    outOfOrder: async () => connection.all<OutOfOrder>(ALL_OUT_OF_ORDER),
    waitFor: (projection, position, timeoutMs, tenant) => watch.waitFor({ projection, position, tenant }, timeoutMs),
    waitForEvent: (projection, position, timeoutMs, tenant) =>
      watch.waitFor({ projection, position, tenant, alone: true }, timeoutMs),

    async close() {
      watch.close();
      await pool.close();
      connection.close();
    },
  };
}

/** The write side of the embedded read models, for one projector thread. */

import type { BroadcastChannel } from 'node:worker_threads';
import type { LogAnchor, Position } from '../../../../ports/eventStore.js';
import type { OutOfOrder, Parked } from '../../../../ports/projectionProgress.js';
import type { ReadModelWriter, RebuildableReadModels, StepwiseWriter } from '../../../../ports/readModelWriter.js';
import { fileNumber, isMarkedDamaged, setAside } from '../../../damagedFiles.js';
import type { Database, Statement } from '../../../openSqlite.js';
import { SMALL_ROWS } from '../../shared/smallTables.js';
import { openConnection, ReadModelsDamagedError } from '../connections.js';
import { LIVE } from '../ddl.js';
import { dropDeliveries } from '../deliveries.js';
import { isOutdated } from '../layout.js';
import {
  forgetProgress,
  LOG_ANCHOR,
  type LogAnchorRow,
  logAnchorOf,
  OutOfOrderTable,
  ParkedTable,
  parkedKey,
} from '../progress.js';
import { type Checkpoints, openCheckpointChannel, type Reached } from '../threads/checkpointWatch.js';
import { copyWal, WalCopier } from '../threads/walCopier.js';
import { CopyWriter, throwingMismatch } from './copyWriter.js';
import { clearDiscarded, clearSome, discardLive, isDiscardable } from './discarded.js';
import { beginRebuild, isRebuilding } from './rebuild.js';
import { FairTransactions, inTransaction } from './transactions.js';
import { TrigramMerger } from './trigramMerger.js';

const CACHE_MEGABYTES = 40;

/**
 * Opens the write side. Its calls block the calling thread while SQLite works.
 * @throws ReadModelsUnavailableError when the file cannot be opened
 */
export async function openSqliteReadModelWriter({
  file,
  smallRows = SMALL_ROWS,
  onSetAside,
}: {
  readonly file: string;
  /** Default: `SMALL_ROWS`. */
  readonly smallRows?: number;
  /** With it a damaged file is set aside and an empty one takes its place. Called with the damaged file's new name. */
  readonly onSetAside?: (aside: string) => void;
}): Promise<ReadModelWriter & RebuildableReadModels> {
  const open = () => openConnection({ file, cacheMegabytes: CACHE_MEGABYTES, readOnly: false });
  const openAnother = () => {
    const aside = setAside(file);
    if (aside !== undefined) onSetAside?.(aside);
    return open();
  };
  let db: Database;
  try {
    db = onSetAside !== undefined && isMarkedDamaged(file) ? openAnother() : open();
  } catch (error) {
    if (onSetAside === undefined || !(error instanceof ReadModelsDamagedError)) throw error;
    db = openAnother();
  }
  return new SqliteReadModelWriter({ file, smallRows }, db, openCheckpointChannel(file));
}

type Options = { readonly file: string; readonly smallRows: number };

type Stored = {
  readonly checkpoints: Checkpoints;
  readonly parked: readonly Parked[];
  readonly outOfOrder: readonly OutOfOrder[];
};

class SqliteReadModelWriter extends CopyWriter implements ReadModelWriter, RebuildableReadModels {
  readonly #options: Options;
  readonly #channel: BroadcastChannel;
  readonly #fileNumber: number | undefined;
  readonly #transactions: FairTransactions;
  readonly #walCopier: WalCopier;
  readonly #trigramMerger: TrigramMerger;
  /** Changes with each commit of another connection. */
  readonly #dataVersion: Statement<[], number>;
  #lastVersion: number | undefined;
  /** True at first: an earlier process may have left discarded rows. */
  #mayHoldDropped = true;
  readonly #parked: ParkedTable;
  readonly #outOfOrder: OutOfOrderTable;
  /** As stored and as the open transaction changes it; undefined while unknown. */
  #stored: Stored | undefined;
  /** Applied by the open transaction. */
  #appliedOutOfOrder: OutOfOrder[] = [];
  readonly #checkpoints: Statement<[], [string, Position]>;
  readonly #setCheckpoint: Statement<[string, number]>;
  readonly #setAnchor: Statement<[string | null, number, string | null]>;

  constructor(options: Options, db: Database, channel: BroadcastChannel) {
    super(db, LIVE, options.smallRows);
    this.#options = options;
    this.#channel = channel;
    this.#fileNumber = fileNumber(options.file);
    this.#transactions = new FairTransactions(db);
    this.#walCopier = new WalCopier({ file: options.file }, () => copyWal(db));
    this.#trigramMerger = new TrigramMerger(db);
    this.#dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck();
    this.#lastVersion = this.#dataVersion.get();
    this.#parked = new ParkedTable(db);
    this.#outOfOrder = new OutOfOrderTable(db);
    this.#checkpoints = db.prepare<[], [string, Position]>('SELECT projection, position FROM checkpoints').raw();
    this.#setCheckpoint = db.prepare('INSERT OR REPLACE INTO checkpoints (projection, position) VALUES (?, ?)');
    this.#setAnchor = db.prepare(
      'INSERT OR REPLACE INTO log_anchor (only, log, position, event_id) VALUES (1, ?, ?, ?)',
    );
  }

  async begin(): Promise<void> {
    await this.#transactions.begin();
    this.#appliedOutOfOrder = [];
    this.#forgetWhatOthersChanged();
  }

  #forgetWhatOthersChanged(): void {
    const version = this.#dataVersion.get();
    if (version === this.#lastVersion) return;
    this.#lastVersion = version;
    this.#stored = undefined;
    this.tables.forget();
  }

  override async rollback(): Promise<void> {
    this.#stored = undefined;
    await super.rollback();
    this.#transactions.ended();
  }

  #known(): Stored {
    if (!this.db.inTransaction) this.#forgetWhatOthersChanged();
    this.#stored ??= {
      checkpoints: new Map(this.#checkpoints.all()),
      parked: this.#parked.all(),
      outOfOrder: this.#outOfOrder.all(),
    };
    return this.#stored;
  }

  override readonly checkpoint: ReadModelWriter['checkpoint'] = async (projection) =>
    this.#known().checkpoints.get(projection) ?? 0;

  async commit(checkpoints: Checkpoints, place?: LogAnchor): Promise<void> {
    const stored = this.#known().checkpoints;
    for (const [projection, position] of checkpoints) {
      if (stored.get(projection) !== position) this.#setCheckpoint.run(projection, position);
    }
    if (place !== undefined) this.#setAnchor.run(place.log ?? null, place.position, place.eventId ?? null);
    if (this.#known().outOfOrder.length > 0) {
      this.#outOfOrder.removePassed();
      this.#stored = undefined;
    }
    const known = this.#known();
    this.#stored = { ...known, checkpoints: new Map([...known.checkpoints, ...checkpoints]) };
    const parked = known.parked.map(parkedKey);
    this.db.exec('COMMIT');
    this.#transactions.ended();
    const reached = { file: this.#fileNumber, checkpoints, outOfOrder: this.#appliedOutOfOrder, parked };
    this.#channel.postMessage(reached satisfies Reached);
    this.#walCopier.committed();
  }

  readonly parked: ReadModelWriter['parked'] = async () => this.#known().parked;

  readonly park: ReadModelWriter['park'] = async (parked) => {
    this.#parked.put(parked);
    this.#stored = undefined;
  };

  readonly unpark: ReadModelWriter['unpark'] = async ({ tenant, projection }) => {
    this.#parked.remove(tenant, projection);
    this.#stored = undefined;
  };

  readonly outOfOrder: ReadModelWriter['outOfOrder'] = async () => this.#known().outOfOrder;

  readonly stepwise: StepwiseWriter = {
    mayOvertake: async () => !isRebuilding(this.db),
    putOutOfOrder: async (applied) => {
      this.#outOfOrder.put(applied);
      this.#stored = undefined;
      if (applied.pieces === null) this.#appliedOutOfOrder.push(applied);
    },
    cleanUpSome: async (table, cleanUp, event) =>
      throwingMismatch({ ...table, projection: 'records', position: event.position }, () =>
        this.tables.cleanUpSome(table, cleanUp, event),
      ),
  };

  readonly askRetry: ReadModelWriter['askRetry'] = ({ tenant, projection }) =>
    inTransaction(this.db, () => {
      this.#stored = undefined;
      return this.#parked.askRetry(tenant, projection);
    });

  async anchor(): Promise<LogAnchor | undefined> {
    return logAnchorOf(this.db.prepare<[], LogAnchorRow>(LOG_ANCHOR).get());
  }

  readonly dropDeliveries: ReadModelWriter['dropDeliveries'] = async (endedBefore, limit) =>
    dropDeliveries(this.db, endedBefore, limit);

  override readonly dropTenant: ReadModelWriter['dropTenant'] = async (projection, tenant) => {
    this.dropFromCopy(projection, tenant);
    this.#mayHoldDropped = true;
  };

  async clearDropped(): Promise<boolean> {
    if (this.#mayHoldDropped) this.#mayHoldDropped = await clearSome(this.db);
    return this.#mayHoldDropped;
  }

  async mergeIndexes(): Promise<boolean> {
    const mayBeMore = await this.#trigramMerger.mergeSome();
    this.#walCopier.committed();
    return mayBeMore;
  }

  async reset(projection: string): Promise<void> {
    await this.begin();
    try {
      if (isDiscardable(projection)) discardLive(this.db, { projection });
      forgetProgress(this.db, { projection });
      this.#stored = undefined;
      this.tables.forget();
      await this.commit(new Map([[projection, 0]]));
    } catch (error) {
      await this.rollback();
      throw error;
    }
    await clearDiscarded(this.db);
  }

  readonly beginRebuild: RebuildableReadModels['beginRebuild'] = (scope) => beginRebuild(this.#options, scope);

  readonly nextTenant: RebuildableReadModels['nextTenant'] = async (after) => nextTenant(this.db, after);

  readonly outdatedTables: RebuildableReadModels['outdatedTables'] = async (tenant) => outdatedTables(this.db, tenant);

  async close(): Promise<void> {
    this.#channel.close();
    await this.#walCopier.close();
    this.db.close();
  }
}

/** Finds tables that were laid out for an earlier version of their asset types. */
const NEXT_TENANT = `SELECT min(tenant) FROM catalog WHERE copy = ${LIVE} AND tenant > ?`;

export const nextTenant = (db: Database, after = ''): string | undefined =>
  db.prepare<[string], string | null>(NEXT_TENANT).pluck().get(after) ?? undefined;

type Row = { readonly name: string; readonly assetType: string; readonly layout: string };

/** Tables without records are not outdated: they are laid out with their first one. */
const TABLES = `SELECT name, asset_type AS assetType, layout FROM catalog
  WHERE tenant = ? AND copy = ${LIVE} AND made = 1 ORDER BY name`;

export const outdatedTables = (db: Database, tenant: string): readonly string[] =>
  db
    .prepare<[string], Row>(TABLES)
    .all(tenant)
    .filter(({ assetType, layout }) => isOutdated(JSON.parse(assetType), JSON.parse(layout)))
    .map(({ name }) => name);

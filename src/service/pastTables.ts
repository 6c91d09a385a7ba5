/**
 * Copies of tables as they were, in files of this process below DATA_DIR. Each is made once, by the thread of
 * `pastTableThread.ts`, and removed when nobody has asked for it for a while, or when room is short. Whatever engines the
 * service uses, copies are embedded: their events come from the log, and nothing else needs them.
 */
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type OpenComparison, openComparison } from '../adapters/readmodels/sqlite/past/comparison.js';
import { removeCopy } from '../adapters/readmodels/sqlite/past/copy.js';
import { openSqliteReadModels } from '../adapters/readmodels/sqlite/store.js';
import type { Config } from '../config.js';
import {
  MAX_PAST_TABLES,
  MAX_PAST_TABLES_OF_TENANT,
  MAX_WAITING_PAST_TABLES,
  PAST_TABLE_ABANDONED_S,
  PAST_TABLE_WAIT_MS,
  PAST_TABLES_AT_ONCE,
  PAST_TABLES_DISK_PERCENT,
  PAST_TABLES_TENANT_PERCENT,
} from '../domain/limits.js';
import type { Position } from '../ports/eventStore.js';
import {
  type Compared,
  type PastReads,
  type PastTable,
  PastTableBuildingError,
  PastTableRefusedError,
  type PastTables,
} from '../ports/pastTables.js';
import { ReadModelsWithheldError } from '../ports/readModels.js';
import type { ReadModels } from '../ports/readSide.js';
import { Cancellation } from '../supervision/cancellation.js';
import { Deadline } from '../supervision/deadline.js';
import { FairQueue, TooManyWaitingError } from '../supervision/fairQueue.js';
import { PAST_TABLES } from './dataDirectory.js';
import { usersOf } from './directoryUse.js';
import type { DiskReserve } from './diskReserve.js';
import type { EngineConfig } from './engines.js';
import { AbandonedError, busy, noDisk } from './pastTableRefusals.js';
import { type PastJob, PastTableThread } from './pastTableThread.js';

/** How often copies are looked through for those that are no longer wanted. */
const LOOK_MS = 1_000;
/** A copy that nobody reads has no threads. */
const READERS_KEPT_MS = 60_000;
/** Rankings of each copy: some of a million records. */
const RANKING_BYTES = 16 * 2 ** 20;

type PastConfig = EngineConfig & Pick<Config, 'PAST_TABLES_BYTES' | 'PAST_TABLES_MINUTES'>;

export type PastTablesOptions = {
  readonly disk: Pick<DiskReserve, 'free' | 'reserve'>;
  /** How many erasures of the log are known: a copy that was made before one may show what is erased. */
  readonly erasures?: () => number;
  /** Called when a copy could not be made. */
  readonly onFailure: (error: unknown) => void;
  readonly waitMs?: number; // That a request waits for a copy; default PAST_TABLE_WAIT_MS.
};

/** A copy of a table, or a comparison of two, in its states: made, failed, or neither yet. */
type Entry = {
  readonly key: string;
  readonly tenant: string;
  readonly file: string;
  /** Undefined for a comparison. */
  readonly table?: PastTable;
  readonly making: Cancellation;
  state: 'making' | 'made' | 'failed';
  failure?: unknown;
  /** Resolves when it is made or has failed. */
  settled: Promise<void>;
  progress: number;
  bytes: number;
  /** On the clock of `performance.now()`. */
  askedAt: number;
  /** Requests that read it, and jobs that need it. */
  uses: number;
  /** No request finds it any more; it is removed when nothing uses it. */
  isForgotten?: true;
  opened?: Promise<ReadModels>;
  comparison?: OpenComparison;
};

/** Removes what an earlier process left behind, and opens the directory for copies. */
export async function openPastTables(config: PastConfig, options: PastTablesOptions): Promise<OpenPastTables> {
  const all = join(config.DATA_DIR, PAST_TABLES);
  await mkdir(all, { recursive: true, mode: 0o700 });
  const isOnly = (await usersOf(config.DATA_DIR)).length <= 1;
  if (isOnly) for (const name of await readdir(all)) await rm(join(all, name), { recursive: true, force: true });
  const directory = join(all, `${process.pid}-${Date.now()}`);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  return new OpenPastTables(directory, config, options);
}

export class OpenPastTables implements PastTables {
  readonly #directory: string;
  readonly #config: PastConfig;
  readonly #options: PastTablesOptions;
  readonly #thread: PastTableThread;
  readonly #turns = new FairQueue({
    atOnce: PAST_TABLES_AT_ONCE,
    ofGroup: 1,
    waitingOfGroup: MAX_WAITING_PAST_TABLES,
  });
  readonly #entries = new Map<string, Entry>();
  readonly #looking: NodeJS.Timeout;
  #files = 0;
  #erasures: number | undefined;

  constructor(directory: string, config: PastConfig, options: PastTablesOptions) {
    this.#directory = directory;
    this.#config = config;
    this.#options = options;
    this.#erasures = options.erasures?.();
    this.#thread = new PastTableThread(config);
    this.#looking = setInterval(() => this.look(), LOOK_MS).unref();
  }

  async read<Result>(
    table: PastTable,
    work: (reads: PastReads) => Promise<Result>,
    wanted?: Cancellation,
  ): Promise<Result> {
    const entry = this.#table(table);
    return this.#with(entry, () => work(this.#readsOf(entry)), wanted);
  }

  async compare<Result>(
    from: PastTable,
    to: PastTable,
    work: (compared: Compared) => Promise<Result>,
    wanted?: Cancellation,
  ): Promise<Result> {
    const one = this.#table(from);
    // Made while the first one is waited for, and from it.
    const other = from.position === to.position ? one : this.#table(to);
    const compareThem = async () => {
      const entry = this.#comparison(one, other, from);
      return this.#with(
        entry,
        async () => {
          entry.comparison ??= openComparison(entry.file);
          const { comparison } = entry;
          return work({ before: this.#readsOf(one), after: this.#readsOf(other), comparison });
        },
        wanted,
      );
    };
    return this.#with(one, () => this.#with(other, compareThem, wanted), wanted);
  }

  /** Copies and comparisons that there are, and their bytes. */
  get counts(): { readonly copies: number; readonly bytes: number } {
    return { copies: this.#entries.size, bytes: this.#bytesOf([...this.#entries.values()]) };
  }

  async close(): Promise<void> {
    clearInterval(this.#looking);
    await this.#thread.close();
    await Promise.all([...this.#entries.values()].map((entry) => this.#closeReads(entry)));
    await rm(this.#directory, { recursive: true, force: true });
  }

  /** Those that read a copy at this moment go on. */
  #forgetErased(): void {
    const count = this.#options.erasures?.();
    if (count === this.#erasures) return;
    this.#erasures = count;
    for (const entry of [...this.#entries.values()]) {
      if (entry.state === 'making') entry.making.cancel(new AbandonedError());
      this.#entries.delete(entry.key);
      entry.isForgotten = true;
      this.#release(entry, 0);
    }
  }

  #table(table: PastTable): Entry {
    this.#forgetErased();
    const key = `${table.tenant} ${table.table} ${table.position}`;
    return this.#entry(key, { tenant: table.tenant, table }, (file) => {
      const base = this.#nearestBefore(table);
      const position = base?.table?.position ?? 0;
      return {
        job: { kind: 'table', table, file, base: base && { file: base.file, position } },
        needs: base === undefined ? [] : [base],
      };
    });
  }

  #comparison(one: Entry, other: Entry, { tenant, table }: PastTable): Entry {
    return this.#entry(`${one.key} > ${other.key}`, { tenant }, (file) => ({
      job: { kind: 'comparison', file, table: { tenant, table }, before: one.file, after: other.file },
      needs: [one, other],
    }));
  }

  /** The latest copy of the table that is made already: only the events since are applied to a copy of it. */
  #nearestBefore({ tenant, table, position }: PastTable): Entry | undefined {
    const positionOf = (entry: Entry): Position => entry.table?.position ?? 0;
    return [...this.#entries.values()]
      .filter((entry) => entry.state === 'made' && entry.tenant === tenant && entry.table?.table === table)
      .filter((entry) => positionOf(entry) < position)
      .sort((a, b) => positionOf(b) - positionOf(a))[0];
  }

  /** @throws PastTablesBusyError, PastTableRefusedError for a new one that finds no room */
  #entry(
    key: string,
    of: Pick<Entry, 'tenant' | 'table'>,
    plan: (file: string) => { readonly job: PastJob; readonly needs: readonly Entry[] },
  ): Entry {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      known.askedAt = performance.now();
      return known;
    }
    this.#requireRoom(of.tenant);
    const entry: Entry = {
      ...of,
      key,
      file: join(this.#directory, `${++this.#files}.db`),
      making: new Cancellation(),
      state: 'making',
      settled: Promise.resolve(),
      progress: 0,
      bytes: 0,
      askedAt: performance.now(),
      uses: 0,
    };
    this.#entries.set(key, entry);
    entry.settled = this.#make(entry, plan);
    return entry;
  }

  /** Never rejects. */
  async #make(
    entry: Entry,
    plan: (file: string) => { readonly job: PastJob; readonly needs: readonly Entry[] },
  ): Promise<void> {
    // What it is made from is known when its turn comes, and stays until it is made.
    const make = async (): Promise<void> => {
      const { job, needs } = plan(entry.file);
      for (const needed of needs) needed.uses += 1;
      try {
        entry.bytes = await this.#thread.make(job, entry.making, (done, bytes) => {
          entry.progress = Math.min(1, done);
          entry.bytes = bytes;
          this.#keepWithin(entry);
        });
      } finally {
        for (const needed of needs) this.#release(needed);
      }
    };
    try {
      await this.#turns.run(entry.tenant, make, entry.making);
      this.#keepWithin(entry);
      entry.making.throwIfCancelled();
      entry.state = 'made';
    } catch (error) {
      entry.state = 'failed';
      entry.bytes = 0;
      entry.failure = this.#failureOf(error);
      removeCopy(entry.file);
      if (error instanceof TooManyWaitingError) this.#entries.delete(entry.key);
    }
  }

  #failureOf(error: unknown): unknown {
    if (error instanceof TooManyWaitingError) return busy(MAX_WAITING_PAST_TABLES);
    if (error instanceof PastTableRefusedError || error instanceof AbandonedError) return error;
    this.#options.onFailure(error);
    return new ReadModelsWithheldError('The table as it was could not be made. It is tried again in a minute.');
  }

  /** Waits a moment for a copy that is being made: most are small. */
  async #with<Result>(entry: Entry, work: () => Promise<Result>, wanted?: Cancellation): Promise<Result> {
    if (entry.state === 'making') {
      const { waitMs = PAST_TABLE_WAIT_MS } = this.#options;
      const settled = Promise.race([entry.settled, delay(waitMs, undefined, { ref: false })]);
      await (wanted instanceof Deadline ? wanted.within(settled) : settled);
    }
    if (entry.state === 'failed') throw entry.failure;
    if (entry.state === 'making') throw new PastTableBuildingError(entry.progress);
    entry.uses += 1;
    try {
      return await work();
    } finally {
      this.#release(entry);
      entry.askedAt = performance.now();
    }
  }

  #release(entry: Entry, uses = 1): void {
    entry.uses -= uses;
    if (entry.isForgotten && entry.uses === 0) void this.#closeReads(entry).finally(() => removeCopy(entry.file));
  }

  /** Its threads start with the first read. */
  #readsOf(entry: Entry): PastReads {
    const opened = (): Promise<ReadModels> => {
      entry.opened ??= openSqliteReadModels({ file: entry.file, readers: 1, rankingBytes: RANKING_BYTES });
      return entry.opened;
    };
    return {
      get: async (...asked) => (await opened()).get(...asked),
      list: async (...asked) => (await opened()).list(...asked),
      listBehind: async (...asked) => (await opened()).listBehind(...asked),
      byIds: async (...asked) => (await opened()).byIds(...asked),
      find: async (...asked) => (await opened()).find(...asked),
    };
  }

  /** Removes what is no longer wanted, and everything that it can when the disk is short. Called each second. */
  look(): void {
    this.#forgetErased();
    const now = performance.now();
    const isShort = this.#isDiskShort();
    for (const entry of [...this.#entries.values()]) {
      const idleMs = now - entry.askedAt;
      if (entry.state === 'making') {
        if (isShort) entry.making.cancel(noDisk());
        else if (idleMs > PAST_TABLE_ABANDONED_S * 1_000) entry.making.cancel(new AbandonedError());
      } else if (entry.state === 'failed') {
        if (idleMs > PAST_TABLE_ABANDONED_S * 1_000 || entry.failure instanceof AbandonedError) this.#drop(entry);
      } else if (isShort || idleMs > this.#config.PAST_TABLES_MINUTES * 60_000) this.#drop(entry);
      else if (idleMs > READERS_KEPT_MS && entry.uses === 0) void this.#closeReads(entry);
    }
  }

  #isDiskShort(): boolean {
    return this.#options.disk.free < (this.#options.disk.reserve * PAST_TABLES_DISK_PERCENT) / 100;
  }

  #requireRoom(tenant: string): void {
    if (this.#isDiskShort()) throw noDisk();
    for (const [of, most] of [
      [this.#of(tenant), MAX_PAST_TABLES_OF_TENANT],
      [[...this.#entries.values()], MAX_PAST_TABLES],
    ] as const) {
      if (of.length >= most && !this.#dropOldest(of)) throw busy(most);
    }
  }

  /** Drops other copies for one that grows; if that is not enough, that one is given up. */
  #keepWithin(entry: Entry): void {
    const all = this.#config.PAST_TABLES_BYTES;
    const ofTenant = (all * PAST_TABLES_TENANT_PERCENT) / 100;
    while (this.#bytesOf(this.#of(entry.tenant)) > ofTenant && this.#giveUp(this.#of(entry.tenant), entry)) {}
    while (this.#bytesOf([...this.#entries.values()]) > all && this.#giveUp(this.#ofLargest(), entry)) {}
  }

  /** @returns whether anything was dropped */
  #giveUp(entries: readonly Entry[], growing: Entry): boolean {
    if (this.#dropOldest(entries.filter((each) => each !== growing))) return true;
    const most = (this.#config.PAST_TABLES_BYTES * PAST_TABLES_TENANT_PERCENT) / 100;
    growing.making.cancel(
      new PastTableRefusedError(
        `The table as it was takes more than the ${most} bytes that a tenant has for such copies (PAST_TABLES_BYTES).`,
      ),
    );
    return false;
  }

  #of = (tenant: string): readonly Entry[] => [...this.#entries.values()].filter((entry) => entry.tenant === tenant);

  /** Entries of the tenant that has most bytes. */
  #ofLargest(): readonly Entry[] {
    const tenants = [...new Set([...this.#entries.values()].map(({ tenant }) => tenant))];
    return tenants.map(this.#of).sort((a, b) => this.#bytesOf(b) - this.#bytesOf(a))[0] ?? [];
  }

  #bytesOf = (entries: readonly Entry[]): number => entries.reduce((sum, { bytes }) => sum + bytes, 0);

  /** @returns false if all are in use, or being made */
  #dropOldest(entries: readonly Entry[]): boolean {
    const [oldest] = entries
      .filter(({ state, uses }) => state !== 'making' && uses === 0)
      .sort((a, b) => a.askedAt - b.askedAt);
    if (oldest !== undefined) this.#drop(oldest);
    return oldest !== undefined;
  }

  /** Not while it is in use. */
  #drop(entry: Entry): void {
    if (entry.uses > 0) return;
    this.#entries.delete(entry.key);
    void this.#closeReads(entry).finally(() => removeCopy(entry.file));
  }

  async #closeReads(entry: Entry): Promise<void> {
    const { opened, comparison } = entry;
    delete entry.opened;
    delete entry.comparison;
    comparison?.close();
    const reads = await opened?.catch(() => undefined);
    await reads?.close();
  }
}

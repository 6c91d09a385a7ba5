/** Makes the rankings that lists need, one after another, each in a thread of its own, and decides which are kept in memory. */

import { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { FairQueue, Tally } from '../../../../supervision/fairQueue.js';
import { threadLimits } from '../../../threadLimits.js';
import { BYTES_A_ROW, type MadeRanking, type RankingName, rankingKey } from './ranking.js';

export type RankingThreadData = {
  readonly file: string;
  /** A table of more rows has no ranking. */
  readonly mostRows: number;
  readonly name: RankingName;
  /** One cell: 1 as soon as the thread must end, else 0. */
  readonly closing: Int32Array<SharedArrayBuffer>;
};

/** Tenants take turns. Requests beyond these limits are dropped: the next slow list asks again. */
const WAITING = { waiting: 256, waitingOfGroup: 4 };
/** Memory beside the rows of each ranking: what reader threads keep of rows that changed since. */
export const BYTES_OF_CHANGES = 2 ** 20;
/**
 * After a ranking is made for the second time, its tenant rests for so many times as long as that took. So tables that change
 * all the time, or more rankings than fit in memory, cost a fifth of a thread.
 */
const REST_SHARE = 4;
/** Rankings that are known to have been made before, and tenants that rest. */
const MOST_KNOWN = 1_000;

type RankingMakerOptions = {
  readonly file: string;
  /** For all that are kept: each takes 4 bytes a record and `BYTES_OF_CHANGES`. */
  readonly maxBytes: number;
  /** For all reader threads: this one was made, or is no longer kept. */
  readonly onMade: (made: MadeRanking) => void;
  readonly onDropped: (name: RankingName) => void;
};

export class RankingMaker {
  readonly #options: RankingMakerOptions;
  readonly #closing = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #worker: Worker | undefined;
  readonly #turns = new FairQueue({ atOnce: 1, ...WAITING });
  /** Waiting, or being made. */
  readonly #wanted = new Set<string>();
  readonly #madeBefore = new LRUCache<string, true>({ max: MOST_KNOWN });
  readonly #restsUntil = new LRUCache<string, number>({ max: MOST_KNOWN });
  /** In the order of making. */
  readonly #kept = new Map<string, MadeRanking>();
  #isOver = false;

  constructor(options: RankingMakerOptions) {
    this.#options = options;
  }

  /** All that are kept. */
  all(): Iterable<MadeRanking> {
    return this.#kept.values();
  }

  want(name: RankingName): void {
    const key = rankingKey(name);
    if (this.#isOver || this.#restOf(name) > 0 || this.#wanted.has(key)) return;
    this.#wanted.add(key);
    void this.#makeInTurn(name).finally(() => this.#wanted.delete(key));
  }

  async #makeInTurn(name: RankingName): Promise<void> {
    try {
      await this.#turns.run(name.tenant, () => this.#make(name));
    } catch {
      // Too many wait, or no thread can be started: lists are only slower, and the next one asks again.
    }
  }

  async #make(name: RankingName): Promise<void> {
    if (this.#isOver || this.#restOf(name) > 0) return;
    const startedAt = performance.now();
    const made = await this.#ask(name);
    if (made !== undefined && !this.#isOver) this.#keep(made);
    const key = rankingKey(name);
    const endedAt = performance.now();
    if (this.#madeBefore.has(key)) this.#restsUntil.set(name.tenant, endedAt + (endedAt - startedAt) * REST_SHARE);
    this.#madeBefore.set(key, true);
  }

  /** Milliseconds. */
  #restOf({ tenant }: RankingName): number {
    return (this.#restsUntil.get(tenant) ?? 0) - performance.now();
  }

  /** Starts a thread for each one: rankings are made seldom, and its memory is freed. Undefined when it fails. */
  #ask(name: RankingName): Promise<MadeRanking | undefined> {
    const { file, maxBytes } = this.#options;
    const mostRows = Math.floor((maxBytes - BYTES_OF_CHANGES) / BYTES_A_ROW);
    const worker = new Worker(new URL('./rankingThread.js', import.meta.url), {
      workerData: { file, mostRows, name, closing: this.#closing } satisfies RankingThreadData,
      resourceLimits: threadLimits(1),
    });
    worker.unref();
    this.#worker = worker;
    let made: MadeRanking | undefined;
    worker.on('message', (message: MadeRanking) => {
      made = message;
    });
    // Without a ranking lists are only slower. Damage is reported by reads and by the proof.
    worker.on('error', () => undefined);
    return new Promise((resolve) => {
      worker.on('exit', () => {
        this.#worker = undefined;
        resolve(made);
      });
    });
  }

  /** The tenant whose rankings take most makes room: its oldest goes first, and this one last. */
  #keep(made: MadeRanking): void {
    const { maxBytes, onMade, onDropped } = this.#options;
    this.#kept.delete(rankingKey(made));
    this.#kept.set(rankingKey(made), made);
    for (let bytes = this.#bytes(); bytes.total > maxBytes; bytes = this.#bytes()) {
      const next = this.#oldestOfLargest(bytes);
      if (next === undefined) break;
      this.#kept.delete(rankingKey(next));
      onDropped(next);
    }
    if (this.#kept.has(rankingKey(made))) onMade(made);
  }

  #oldestOfLargest(bytes: Tally): MadeRanking | undefined {
    let found: MadeRanking | undefined;
    for (const ranking of this.#kept.values()) {
      if (found === undefined || bytes.of(ranking.tenant) > bytes.of(found.tenant)) found = ranking;
    }
    return found;
  }

  #bytes(): Tally {
    const bytes = new Tally();
    for (const { tenant, rows } of this.#kept.values()) bytes.add(tenant, rows.byteLength + BYTES_OF_CHANGES);
    return bytes;
  }

  async close(): Promise<void> {
    this.#isOver = true;
    Atomics.store(this.#closing, 0, 1);
    if (this.#worker === undefined) return;
    this.#worker.ref();
    await new Promise((resolve) => this.#worker?.once('exit', resolve));
  }
}

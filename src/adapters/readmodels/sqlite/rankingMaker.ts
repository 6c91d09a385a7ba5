/** Makes the rankings that lists need, one after another in a thread of its own, and says which are kept in memory. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { Tally } from '../../../supervision/tally.js';
import { TooManyWaitingError, Turns } from '../../../supervision/turns.js';
import { youngHeap } from '../../youngHeap.js';
import { BYTES_A_ROW } from './makeRanking.js';
import type { MadeRanking } from './query/ranking.js';
import { keyOf, type RankingName } from './query/rankings.js';

export type RankingThreadData = {
  readonly file: string;
  /** A table of more rows has no ranking. */
  readonly mostRows: number;
  /** One cell: 1 as soon as it is to end what it does, else 0. */
  readonly closing: Int32Array<SharedArrayBuffer>;
};
export type RankingRequest = { readonly kind: 'make'; readonly name: RankingName } | { readonly kind: 'close' };
export type RankingReply = { readonly made?: MadeRanking; readonly ms: number };

/** Tenants take turns. What is wanted beyond that is not made; whoever needs it says so again. */
const WAITING = { waiting: 64, waitingOfGroup: 16 };
/**
 * After one that was made before, none is made for its tenant for so many times as long as it took: so tables that change all
 * the time, or more of them than are kept, cost a fifth of a thread.
 */
const REST_SHARE = 4;
/** So many are known to have been made before, and of so many tenants until when they rest. */
const MOST_KNOWN = 1_000;

export type RankingMakerOptions = {
  readonly file: string;
  /** All that are kept, 4 bytes for each record of each. */
  readonly maxBytes: number;
  /** Of any thread that answers lists: this one was made, or is no longer kept. */
  readonly onMade: (made: MadeRanking) => void;
  readonly onDropped: (name: RankingName) => void;
};

export class RankingMaker {
  readonly #options: RankingMakerOptions;
  readonly #closing = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #worker: Worker | undefined;
  #answered: (reply: RankingReply) => void = () => undefined;
  readonly #turns = new Turns({ atOnce: 1, ...WAITING });
  /** Those that wait, and the one that is being made. */
  readonly #wanted = new Set<string>();
  readonly #madeBefore = new LRUCache<string, true>({ max: MOST_KNOWN });
  readonly #restsUntil = new LRUCache<string, number>({ max: MOST_KNOWN });
  /** In the order in which they were made. */
  readonly #kept = new Map<string, MadeRanking>();
  #isOver = false;

  constructor(options: RankingMakerOptions) {
    this.#options = options;
  }

  /** Those that are kept. */
  all(): Iterable<MadeRanking> {
    return this.#kept.values();
  }

  want(name: RankingName): void {
    const key = keyOf(name);
    const rests = (this.#restsUntil.get(name.tenant) ?? 0) > performance.now();
    if (this.#isOver || rests || this.#wanted.has(key)) return;
    this.#wanted.add(key);
    void this.#makeInTurn(name).finally(() => this.#wanted.delete(key));
  }

  async #makeInTurn(name: RankingName): Promise<void> {
    try {
      await this.#turns.run(name.tenant, () => this.#make(name));
    } catch (error) {
      if (!(error instanceof TooManyWaitingError)) throw error;
    }
  }

  async #make(name: RankingName): Promise<void> {
    if (this.#isOver) return;
    this.#worker ??= this.#start();
    this.#worker.postMessage({ kind: 'make', name } satisfies RankingRequest);
    const { made, ms } = await new Promise<RankingReply>((resolve) => {
      this.#answered = resolve;
    });
    if (made !== undefined && !this.#isOver) this.#keep(made);
    const key = keyOf(name);
    if (this.#madeBefore.has(key)) this.#restsUntil.set(name.tenant, performance.now() + ms * REST_SHARE);
    this.#madeBefore.set(key, true);
  }

  #start(): Worker {
    const { file, maxBytes } = this.#options;
    const mostRows = Math.floor(maxBytes / BYTES_A_ROW);
    const worker = new Worker(new URL('./rankingThread.js', import.meta.url), {
      workerData: { file, mostRows, closing: this.#closing } satisfies RankingThreadData,
      resourceLimits: youngHeap(1),
    });
    worker.on('message', (reply: RankingReply) => this.#answered(reply));
    // Without it lists are only slower.
    worker.on('error', () => {
      this.#isOver = true;
    });
    worker.unref();
    return worker;
  }

  #keep(made: MadeRanking): void {
    const { maxBytes, onMade, onDropped } = this.#options;
    this.#kept.delete(keyOf(made));
    for (let next = this.#oldestOfLargest(); next !== undefined; next = this.#oldestOfLargest()) {
      if (bytesOf(this.#kept.values()).total + made.rows.byteLength <= maxBytes) break;
      this.#kept.delete(keyOf(next));
      onDropped(next);
    }
    this.#kept.set(keyOf(made), made);
    onMade(made);
  }

  /** Of the tenant whose rankings take most: it makes room for others' first. */
  #oldestOfLargest(): MadeRanking | undefined {
    const bytes = bytesOf(this.#kept.values());
    let found: MadeRanking | undefined;
    for (const ranking of this.#kept.values()) {
      if (found === undefined || bytes.of(ranking.tenant) > bytes.of(found.tenant)) found = ranking;
    }
    return found;
  }

  async close(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    Atomics.store(this.#closing, 0, 1);
    if (this.#worker === undefined) return;
    this.#worker.ref();
    this.#worker.postMessage({ kind: 'close' } satisfies RankingRequest);
    await once(this.#worker, 'exit');
  }
}

function bytesOf(rankings: Iterable<MadeRanking>): Tally {
  const bytes = new Tally();
  for (const { tenant, rows } of rankings) bytes.add(tenant, rows.byteLength);
  return bytes;
}

/** Reads rows in a few threads, so that no query blocks the caller's event loop. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import {
  type FoundRows,
  type Page,
  type PageQuery,
  type RowReads,
  type RowsQuery,
  RowsUnavailableError,
  type SpaceRef,
  type SpaceState,
  type TenantProgress,
  type VersionPage,
  type VersionQuery,
} from '../../../ports/rowStore.js';
import type { Cancellation } from '../../../supervision/cancellation.js';
import { threadLimits } from '../../threadLimits.js';
import { NO_ROWS } from './connection.js';
import type { Question, ReaderThreadData, Reply, WantedIndex } from './questions.js';

/** How many threads read at a time. */
const READERS = 2;
/** Indexes that wait to be made. Others are asked for again by later lists. */
const MOST_WAITING_INDEXES = 100;

export function openRowReads({ directory, readers = READERS }: { directory: string; readers?: number }): RowReads {
  return new SqliteRowReads(directory, readers);
}

type Job = {
  readonly question: Question | WantedIndex;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (reason: unknown) => void;
  readonly cancellation?: Cancellation | undefined;
};
type Thread = { readonly worker: Worker; readonly unwanted: Int32Array<SharedArrayBuffer>; job?: Job };

const closed = (): Error => new RowsUnavailableError('The rows are closed.');

class SqliteRowReads implements RowReads {
  readonly #directory: string;
  readonly #size: number;
  readonly #threads: Thread[] = [];
  readonly #short: Job[] = [];
  readonly #long: Job[] = [];
  readonly #indexes = new Map<string, WantedIndex>();
  #maker: Thread | undefined;
  #isClosed = false;

  constructor(directory: string, size: number) {
    this.#directory = directory;
    this.#size = size;
  }

  async rows({ tenant, space }: SpaceRef, query: RowsQuery, cancellation?: Cancellation): Promise<FoundRows> {
    const found = await this.#ask<FoundRows>({ kind: 'rows', tenant, space, query }, cancellation);
    return found ?? { rows: [], formerIds: new Map(), state: NO_ROWS };
  }

  async page({ tenant, space }: SpaceRef, query: PageQuery, cancellation?: Cancellation): Promise<Page> {
    const page = await this.#ask<Page>({ kind: 'page', tenant, space, query }, cancellation);
    return page ?? { rows: [], ...(query.withTotal && { total: 0 }), state: NO_ROWS };
  }

  async versions({ tenant, space }: SpaceRef, query: VersionQuery, cancellation?: Cancellation): Promise<VersionPage> {
    const page = await this.#ask<VersionPage>({ kind: 'versions', tenant, space, query }, cancellation);
    return page ?? { versions: [], ...(query.withTotal && { total: 0 }), state: NO_ROWS };
  }

  spaces(tenant: string) {
    return this.#ask<ReadonlyMap<string, { readonly assetType: AssetType; readonly state: SpaceState }>>({
      kind: 'spaces',
      tenant,
    });
  }

  progress(tenant: string) {
    return this.#ask<TenantProgress>({ kind: 'progress', tenant });
  }

  /** @returns the answer, whose type is that of the question; undefined for a tenant without rows */
  async #ask<Answer>(question: Question, cancellation?: Cancellation): Promise<Answer | undefined> {
    if (this.#isClosed) throw closed();
    cancellation?.throwIfCancelled();
    let forget: (() => void) | undefined;
    try {
      return await new Promise<Answer | undefined>((resolve, reject) => {
        // The types of messages cannot say that an answer is of its question's kind.
        const job: Job = { question, resolve: (answer) => resolve(answer as Answer | undefined), reject, cancellation };
        forget = cancellation?.onCancel(() => this.#abandon(job));
        (question.kind === 'page' ? this.#long : this.#short).push(job);
        this.#next();
      });
    } finally {
      forget?.();
    }
  }

  /** Drops a waiting job. The thread of one in work is told to stop, and replies when it has. */
  #abandon(job: Job): void {
    const thread = this.#threads.find((each) => each.job === job);
    if (thread !== undefined) Atomics.store(thread.unwanted, 0, 1);
    for (const waiting of [this.#short, this.#long]) {
      const place = waiting.indexOf(job);
      if (place >= 0) waiting.splice(place, 1)[0]?.reject(job.cancellation?.reason);
    }
  }

  /** Pages may take long. All others are short and go first, and have one thread more than pages. */
  #next(): void {
    for (const [waiting, most] of [
      [this.#short, this.#size + 1],
      [this.#long, this.#size],
    ] as const) {
      while (waiting.length > 0) {
        const busy = this.#threads.filter(({ job }) => job !== undefined).length;
        const thread =
          busy >= most
            ? undefined
            : (this.#threads.find(({ job }) => job === undefined) ?? this.#start((each) => this.#threads.push(each)));
        const job = thread && waiting.shift();
        if (thread === undefined || job === undefined) break;
        give(thread, job);
      }
    }
  }

  #start(keep: (thread: Thread) => void): Thread {
    const unwanted = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const worker = new Worker(new URL('./readerThread.js', import.meta.url), {
      workerData: { directory: this.#directory, unwanted } satisfies ReaderThreadData,
      resourceLimits: threadLimits(8),
    });
    const thread: Thread = { worker, unwanted };
    let failure: unknown;
    worker.on('message', (reply: Reply) => this.#finish(thread, reply));
    worker.on('error', (error) => {
      failure = error;
    });
    worker.on('exit', () => this.#lose(thread, failure));
    worker.unref();
    keep(thread);
    return thread;
  }

  #finish(thread: Thread, reply: Reply): void {
    const { job } = thread;
    delete thread.job;
    thread.worker.unref();
    const reason = job?.cancellation?.reason;
    if (reason !== undefined) job?.reject(reason);
    else if (reply.kind === 'unavailable') job?.reject(new RowsUnavailableError(reply.message));
    else if (reply.kind === 'error') job?.reject(reply.error);
    else {
      job?.resolve(reply.answer);
      if (job?.question.kind === 'page')
        for (const spec of reply.wanted) {
          const { tenant, space } = job.question;
          this.#want({ kind: 'make', tenant, space, spec });
        }
    }
    this.#next();
  }

  /** A dead thread is replaced when the next question needs one. */
  #lose(thread: Thread, failure: unknown): void {
    if (thread === this.#maker) this.#maker = undefined;
    else this.#threads.splice(this.#threads.indexOf(thread), 1);
    thread.job?.reject(new RowsUnavailableError('A reader thread has died.', { cause: failure }));
    if (!this.#isClosed) this.#next();
  }

  /** Indexes are made one at a time, by a thread of their own: readers go on, and so does the writer with other tenants. */
  #want(wanted: WantedIndex): void {
    const key = JSON.stringify(wanted);
    if (this.#isClosed || this.#indexes.has(key) || this.#indexes.size >= MOST_WAITING_INDEXES) return;
    this.#indexes.set(key, wanted);
    if (this.#indexes.size === 1) void this.#makeAll();
  }

  async #makeAll(): Promise<void> {
    for (let next = this.#indexes.entries().next().value; next !== undefined; ) {
      const [key, question] = next;
      const maker: Thread =
        this.#maker ??
        this.#start((thread) => {
          this.#maker = thread;
        });
      try {
        await new Promise((resolve, reject) => give(maker, { question, resolve, reject }));
      } catch {
        // The next list that is slow asks again.
      }
      this.#indexes.delete(key);
      next = this.#isClosed ? undefined : this.#indexes.entries().next().value;
    }
    this.#maker?.worker.postMessage({ kind: 'close' });
  }

  /** Questions in flight are answered; those that wait are refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const job of [...this.#short.splice(0), ...this.#long.splice(0)]) job.reject(closed());
    await Promise.all(
      [...this.#threads, ...(this.#maker === undefined ? [] : [this.#maker])].map(({ worker }) => {
        worker.ref();
        worker.postMessage({ kind: 'close' });
        return once(worker, 'exit');
      }),
    );
  }
}

function give(thread: Thread, job: Job): void {
  thread.job = job;
  Atomics.store(thread.unwanted, 0, 0);
  // Only a thread at work keeps the process alive.
  thread.worker.ref();
  thread.worker.postMessage(job.question);
}

/** Reads rows in a few threads, so that no query blocks the caller's event loop. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import {
  type FoundRows,
  type Page,
  type RowReads,
  RowsUnavailableError,
  type Spaces,
  type TenantProgress,
  type VersionPage,
} from '../../../ports/rowStore.js';
import type { Cancellation } from '../../../supervision/cancellation.js';
import { threadLimits } from '../../threadLimits.js';
import { NO_ROWS } from './connection.js';
import type { Question, ReaderThreadData, Reply } from './readerThread.js';

/** How many threads read at a time. */
const READERS = 2;

type Job = {
  readonly question: Question;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (reason: unknown) => void;
  readonly cancellation?: Cancellation | undefined;
};
type Thread = { readonly worker: Worker; readonly unwanted: Int32Array<SharedArrayBuffer>; job?: Job };

const closed = (): Error => new RowsUnavailableError('The rows are closed.');

export function openRowReads({ directory, readers = READERS }: { directory: string; readers?: number }): RowReads {
  const threads = new ReaderThreads(directory, readers);
  return {
    async rows({ tenant, space }, query, cancellation) {
      const found = await threads.ask<FoundRows>({ kind: 'rows', tenant, space, query }, cancellation);
      return found ?? { rows: [], formerIds: new Map(), state: NO_ROWS };
    },
    async page({ tenant, space }, query, cancellation) {
      const page = await threads.ask<Page>({ kind: 'page', tenant, space, query }, cancellation);
      return page ?? { rows: [], ...(query.withTotal && { total: 0 }), state: NO_ROWS };
    },
    async versions({ tenant, space }, query, cancellation) {
      const page = await threads.ask<VersionPage>({ kind: 'versions', tenant, space, query }, cancellation);
      return page ?? { versions: [], ...(query.withTotal && { total: 0 }), state: NO_ROWS };
    },
    spaces: (tenant) => threads.ask<Spaces>({ kind: 'spaces', tenant }),
    progress: (tenant) => threads.ask<TenantProgress>({ kind: 'progress', tenant }),
    close: () => threads.close(),
  };
}

class ReaderThreads {
  readonly #directory: string;
  readonly #size: number;
  readonly #threads: Thread[] = [];
  readonly #waiting: Job[] = [];
  /** Indexes are made one at a time. Others are asked for again by later lists. */
  #isMaking = false;
  #isClosed = false;

  constructor(directory: string, size: number) {
    this.#directory = directory;
    this.#size = size;
  }

  /** @returns the answer, whose type is that of the question; undefined for a tenant without rows */
  async ask<Answer>(question: Question, cancellation?: Cancellation): Promise<Answer | undefined> {
    if (this.#isClosed) throw closed();
    cancellation?.throwIfCancelled();
    let forget: (() => void) | undefined;
    try {
      return await new Promise<Answer | undefined>((resolve, reject) => {
        // The types of messages cannot say that an answer is of its question's kind.
        const job: Job = { question, resolve: (answer) => resolve(answer as Answer | undefined), reject, cancellation };
        forget = cancellation?.onCancel(() => this.#abandon(job));
        this.#waiting.push(job);
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
    const place = this.#waiting.indexOf(job);
    if (place >= 0) this.#waiting.splice(place, 1)[0]?.reject(job.cancellation?.reason);
  }

  /** Pages may take long, and leave one thread to all other questions, which go first. */
  #next(): void {
    for (;;) {
      const free = this.#size + 1 - this.#threads.filter(({ job }) => job !== undefined).length;
      const short = free > 0 ? this.#waiting.findIndex(({ question }) => question.kind !== 'page') : -1;
      const place = short < 0 && free > 1 && this.#waiting.length > 0 ? 0 : short;
      if (place < 0) return;
      const [job] = this.#waiting.splice(place, 1);
      if (job !== undefined) give(this.#threads.find((thread) => thread.job === undefined) ?? this.#start(), job);
    }
  }

  #start(): Thread {
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
    worker.on('exit', () => {
      // It is replaced when the next question needs one.
      this.#threads.splice(this.#threads.indexOf(thread), 1);
      thread.job?.reject(new RowsUnavailableError('A reader thread has died.', { cause: failure }));
      if (!this.#isClosed) this.#next();
    });
    this.#threads.push(thread);
    return thread;
  }

  #finish(thread: Thread, reply: Reply): void {
    const { job } = thread;
    delete thread.job;
    // Only a thread at work keeps the process alive.
    thread.worker.unref();
    const reason = job?.cancellation?.reason;
    if (reason !== undefined) job?.reject(reason);
    else if (reply.kind === 'unavailable') job?.reject(new RowsUnavailableError(reply.message));
    else if (reply.kind === 'error') job?.reject(reply.error);
    else {
      job?.resolve(reply.answer);
      const [spec] = reply.wanted ?? [];
      if (job?.question.kind === 'page' && spec !== undefined) this.#make({ ...job.question, kind: 'make', spec });
    }
    this.#next();
  }

  #make(question: Question): void {
    if (this.#isMaking || this.#isClosed) return;
    this.#isMaking = true;
    const done = (): void => {
      this.#isMaking = false;
    };
    // The file may be gone or be damaged: then the next list asks again.
    this.#waiting.push({ question, resolve: done, reject: done });
  }

  /** Questions in flight are answered; those that wait are refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const job of this.#waiting.splice(0)) job.reject(closed());
    await Promise.all(
      this.#threads.map(({ worker }) => {
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
  thread.worker.ref();
  thread.worker.postMessage(job.question);
}

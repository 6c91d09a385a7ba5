/** Reads rows in a few threads, so that no query blocks the caller's event loop. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type RowReads, RowsUnavailableError } from '../../../ports/rowStore.js';
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
type Thread = { readonly worker: Worker; readonly unwanted: Int32Array<SharedArrayBuffer>; job?: Job | undefined };

export function openRowReads({ directory, readers = READERS }: { directory: string; readers?: number }): RowReads {
  const threads = new ReaderThreads(directory, readers);
  const state = NO_ROWS;
  const noTotal = ({ withTotal }: { withTotal: boolean }) => (withTotal ? { total: 0 } : {});
  return {
    rows: (ref, query, cancellation) =>
      threads.ask({ kind: 'rows', ...ref, query }, { rows: [], formerIds: new Map(), state }, cancellation),
    page: (ref, query, cancellation) =>
      threads.ask({ kind: 'page', ...ref, query }, { rows: [], ...noTotal(query), state }, cancellation),
    versions: (ref, query, cancellation) =>
      threads.ask({ kind: 'versions', ...ref, query }, { versions: [], ...noTotal(query), state }, cancellation),
    spaces: (tenant) => threads.ask({ kind: 'spaces', tenant }, undefined),
    progress: (tenant) => threads.ask({ kind: 'progress', tenant }, undefined),
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

  /** @returns `none` for a tenant without rows */
  async ask<Answer>(question: Question, none: Answer, cancellation?: Cancellation): Promise<Answer> {
    if (this.#isClosed) throw new RowsUnavailableError('The rows are closed.');
    cancellation?.throwIfCancelled();
    let forget: (() => void) | undefined;
    const answer = new Promise<unknown>((resolve, reject) => {
      const job = { question, resolve, reject, cancellation };
      forget = cancellation?.onCancel(() => this.#abandon(job));
      this.#waiting.push(job);
      this.#next();
    });
    // The types of messages cannot say that an answer is of its question's kind.
    return ((await answer.finally(() => forget?.())) as Answer | undefined) ?? none;
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
      const place = short < 0 && free > 1 ? 0 : short;
      const [job] = place < 0 ? [] : this.#waiting.splice(place, 1);
      if (job === undefined) return;
      const thread = this.#threads.find((each) => each.job === undefined) ?? this.#start();
      thread.job = job;
      Atomics.store(thread.unwanted, 0, 0);
      // Only a thread at work keeps the process alive.
      thread.worker.ref();
      thread.worker.postMessage(job.question);
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
    thread.job = undefined;
    thread.worker.unref();
    const reason = job?.cancellation?.reason;
    if (reason !== undefined) job?.reject(reason);
    else if (reply.kind === 'unavailable') job?.reject(new RowsUnavailableError(reply.message));
    else if (reply.kind === 'error') job?.reject(reply.error);
    else {
      job?.resolve(reply.answer);
      if (reply.wanted !== undefined && job?.question.kind === 'page') this.#makeIndex(job.question, reply.wanted);
    }
    this.#next();
  }

  #makeIndex({ tenant, space }: Extract<Question, { kind: 'page' }>, spec: string): void {
    if (this.#isMaking || this.#isClosed) return;
    this.#isMaking = true;
    const done = (): void => {
      this.#isMaking = false;
    };
    // The file may be gone or be damaged: then the next list asks again.
    this.ask({ kind: 'makeIndex', tenant, space, spec }, undefined).then(done, done);
  }

  /** Questions in flight are answered; those that wait are refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const job of this.#waiting.splice(0)) job.reject(new RowsUnavailableError('The rows are closed.'));
    await Promise.all(
      this.#threads.map(({ worker }) => {
        worker.ref();
        worker.postMessage('close');
        return once(worker, 'exit');
      }),
    );
  }
}

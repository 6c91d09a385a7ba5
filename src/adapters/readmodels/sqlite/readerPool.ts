/** A few reader threads, so that no query holds the caller's event loop. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { AnswerTooLargeError, ReadModelsUnavailableError } from '../../../ports/readModels.js';
import { youngHeap } from '../../youngHeap.js';
import type { Answer, Question, ReaderThreadData, Reply, Request } from './readerThread.js';

type Job = {
  readonly question: Question;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
};
type Thread = { readonly worker: Worker; job?: Job };

const closed = (): Error => new ReadModelsUnavailableError('The read models are closed.');

export class ReaderPool {
  readonly #data: ReaderThreadData;
  readonly #size: number;
  readonly #threads: Thread[] = [];
  readonly #waiting: Job[] = [];
  #closed = false;

  constructor(data: ReaderThreadData, size: number) {
    this.#data = data;
    this.#size = size;
    while (this.#threads.length < size) this.#start();
  }

  #start(): Thread {
    const worker = new Worker(new URL('./readerThread.js', import.meta.url), {
      workerData: this.#data,
      resourceLimits: youngHeap(8),
    });
    const thread: Thread = { worker };
    let failure: unknown;
    worker.on('message', (reply: Reply) => this.#finish(thread, reply));
    worker.on('error', (error) => {
      failure = error;
    });
    worker.on('exit', () => this.#lose(thread, failure));
    worker.unref();
    this.#threads.push(thread);
    return thread;
  }

  /**
   * Asks the first thread that is free.
   * @throws ReadModelsUnavailableError when the thread dies while it works on it, or the pool is closed
   */
  async ask<Kind extends Question['kind']>(question: Question & { readonly kind: Kind }): Promise<Answer<Kind>> {
    if (this.#closed) throw closed();
    return new Promise<Answer<Kind>>((resolve, reject) => {
      // A thread answers a question with the answer of its kind; the types of messages cannot say so.
      this.#waiting.push({ question, resolve: (answer) => resolve(answer as Answer<Kind>), reject });
      this.#next();
    });
  }

  #next(): void {
    let thread = this.#threads.find(({ job }) => job === undefined);
    if (thread === undefined && this.#threads.length < this.#size) thread = this.#start();
    if (thread === undefined) return;
    const job = this.#waiting.shift();
    if (job === undefined) return;
    thread.job = job;
    // A thread at work keeps the process alive, an idle one does not.
    thread.worker.ref();
    thread.worker.postMessage({ kind: 'ask', question: job.question } satisfies Request);
  }

  #finish(thread: Thread, reply: Reply): void {
    const { job } = thread;
    delete thread.job;
    thread.worker.unref();
    if (reply.kind === 'answer') job?.resolve(reply.answer);
    else job?.reject(reply.kind === 'error' ? reply.error : new AnswerTooLargeError(reply.message));
    this.#next();
  }

  /** A thread that has died is replaced when the next question needs it. */
  #lose(thread: Thread, failure: unknown): void {
    this.#threads.splice(this.#threads.indexOf(thread), 1);
    thread.job?.reject(new ReadModelsUnavailableError('A reader thread has died.', { cause: failure }));
    if (!this.#closed && this.#waiting.length > 0) this.#next();
  }

  /** Questions in flight are answered; those that wait are refused. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const job of this.#waiting.splice(0)) job.reject(closed());
    await Promise.all(
      this.#threads.map(({ worker }) => {
        worker.ref();
        worker.postMessage({ kind: 'close' } satisfies Request);
        return once(worker, 'exit');
      }),
    );
  }
}

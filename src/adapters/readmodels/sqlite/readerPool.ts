/** A few reader threads, so that no query holds the caller's event loop. */
import { Worker } from 'node:worker_threads';
import { ReadModelsUnavailableError } from '../../../ports/readModels.js';
import type { Answer, Question } from './reader.js';
import type { ReaderThreadData, Reply, Request } from './readerThread.js';

type Job = {
  readonly question: Question;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
};
type Thread = { readonly worker: Worker; job?: Job };

export class ReaderPool {
  readonly #data: ReaderThreadData;
  readonly #threads: Thread[];
  readonly #waiting: Job[] = [];
  #closed = false;

  constructor(data: ReaderThreadData, threads: number) {
    this.#data = data;
    this.#threads = Array.from({ length: threads }, () => this.#start());
  }

  #start(): Thread {
    const worker = new Worker(new URL('./readerThread.js', import.meta.url), { workerData: this.#data });
    const thread: Thread = { worker };
    let failure: Error | undefined;
    worker.on('message', (reply: Reply) => this.#finish(thread, reply));
    worker.on('error', (error) => {
      failure = error instanceof Error ? error : new Error(String(error));
    });
    worker.on('exit', () => this.#replace(thread, failure));
    worker.unref();
    return thread;
  }

  /**
   * Asks the first thread that is free.
   * @throws ReadModelsUnavailableError when the thread dies over it, or the pool is closed
   */
  async ask<Kind extends Question['kind']>(question: Question & { readonly kind: Kind }): Promise<Answer<Kind>> {
    if (this.#closed) throw new ReadModelsUnavailableError('The read models are closed.');
    return new Promise<Answer<Kind>>((resolve, reject) => {
      // A thread answers a question with the answer of its kind; the types of messages cannot say so.
      this.#waiting.push({ question, resolve: (answer) => resolve(answer as Answer<Kind>), reject });
      this.#next();
    });
  }

  #next(): void {
    const free = this.#threads.find((thread) => thread.job === undefined);
    if (free === undefined) return;
    const job = this.#waiting.shift();
    if (job === undefined) return;
    free.job = job;
    // A thread at work keeps the process alive, an idle one does not.
    free.worker.ref();
    const request: Request = { number: 0, question: job.question };
    free.worker.postMessage(request);
  }

  #finish(thread: Thread, reply: Reply): void {
    const { job } = thread;
    delete thread.job;
    thread.worker.unref();
    if ('error' in reply) job?.reject(reply.error);
    else job?.resolve(reply.answer);
    this.#next();
  }

  #replace(thread: Thread, failure: Error | undefined): void {
    thread.job?.reject(new ReadModelsUnavailableError('A reader thread has ended.', { cause: failure }));
    if (this.#closed) return;
    this.#threads[this.#threads.indexOf(thread)] = this.#start();
    this.#next();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const job of this.#waiting.splice(0))
      job.reject(new ReadModelsUnavailableError('The read models are closed.'));
    await Promise.all(this.#threads.map(({ worker }) => worker.terminate()));
  }
}

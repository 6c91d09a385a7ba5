/** A few reader threads, so that no query blocks the caller's event loop. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import {
  AnswerTooLargeError,
  ReadModelsUnavailableError,
  ReadModelsWithheldError,
} from '../../../../ports/readModels.js';
import type { Cancellation } from '../../../../supervision/cancellation.js';
import { threadLimits } from '../../../threadLimits.js';
import type { SlowList } from '../query/lister.js';
import { RankingMaker } from '../ranking/rankingMaker.js';
import type { Answer, Question, ReaderThreadData, Reply, Request } from './readerThread.js';

type Job = {
  readonly question: Question;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (reason: unknown) => void;
  readonly cancellation: Cancellation | undefined;
};
type Thread = {
  readonly worker: Worker;
  readonly unwanted: Int32Array<SharedArrayBuffer>;
  job?: Job;
};

/** These may take long. All others are short, and decisions wait for their answers. */
const LONG: readonly Question['kind'][] = [
  'list',
  'listBehind',
  'byIds',
  'counts',
  'history',
  'approvals',
  'deliveries',
  'deliveriesOfOrder',
  'activity',
];
const isLong = ({ question }: Job): boolean => LONG.includes(question.kind);

/** The replies that end a question. */
type Answered = Exclude<Reply, { kind: 'ranking wanted' | 'slow list' }>;

const closed = (): Error => new ReadModelsUnavailableError('The read models are closed.');

/**
 * Short questions go first. The pool may start two threads more than its size when it needs them. Long questions may take one
 * of these, so that lists of one tenant leave a thread for another tenant's, and never all threads.
 */
export class ReaderPool {
  readonly #data: Omit<ReaderThreadData, 'unwanted'>;
  readonly #size: number;
  readonly #threads: Thread[] = [];
  readonly #short: Job[] = [];
  readonly #long: Job[] = [];
  readonly #rankings: RankingMaker;
  readonly #onSlowList: (list: SlowList) => void;
  #closed = false;

  /** @param rankingBytes memory for rankings, shared by all threads */
  constructor(
    data: Omit<ReaderThreadData, 'unwanted'>,
    {
      size,
      rankingBytes,
      onSlowList,
    }: {
      readonly size: number;
      readonly rankingBytes: number;
      readonly onSlowList: (list: SlowList) => void;
    },
  ) {
    this.#data = data;
    this.#size = size;
    this.#onSlowList = onSlowList;
    this.#rankings = new RankingMaker({
      file: data.file,
      maxBytes: rankingBytes,
      onMade: (made) => this.#tellAll({ kind: 'ranking', made }),
      onDropped: ({ tenant, table, column }) => this.#tellAll({ kind: 'no ranking', name: { tenant, table, column } }),
    });
    while (this.#threads.length < size) this.#start();
  }

  #start(): Thread {
    const unwanted = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const worker = new Worker(new URL('./readerThread.js', import.meta.url), {
      workerData: { ...this.#data, unwanted } satisfies ReaderThreadData,
      resourceLimits: threadLimits(8),
    });
    const thread: Thread = { worker, unwanted };
    let failure: unknown;
    worker.on('message', (reply: Reply) => {
      if (reply.kind === 'ranking wanted') this.#rankings.want(reply.name);
      else if (reply.kind === 'slow list') this.#onSlowList(reply.list);
      else this.#finish(thread, reply);
    });
    worker.on('error', (error) => {
      failure = error;
    });
    worker.on('exit', () => this.#lose(thread, failure));
    worker.unref();
    this.#threads.push(thread);
    for (const made of this.#rankings.all()) worker.postMessage({ kind: 'ranking', made } satisfies Request);
    return thread;
  }

  #tellAll(news: Request): void {
    for (const { worker } of this.#threads) worker.postMessage(news);
  }

  /**
   * Asks the first thread that is free.
   * @throws ReadModelsUnavailableError when the thread dies or the pool is closed; the reason when the question is
   *   cancelled before its answer, not before the thread is free again
   */
  async ask<Kind extends Question['kind']>(
    question: Question & { readonly kind: Kind },
    cancellation?: Cancellation,
  ): Promise<Answer<Kind>> {
    if (this.#closed) throw closed();
    cancellation?.throwIfCancelled();
    let answered: (() => void) | undefined;
    try {
      return await new Promise<Answer<Kind>>((resolve, reject) => {
        // A thread's answer is of the question's kind, which the types of messages cannot say.
        const job: Job = { question, resolve: (answer) => resolve(answer as Answer<Kind>), reject, cancellation };
        answered = cancellation?.onCancel(() => this.#abandon(job));
        (isLong(job) ? this.#long : this.#short).push(job);
        this.#next();
      });
    } finally {
      answered?.();
    }
  }

  /** Drops a waiting job. The thread of one in work is told to stop, and replies when it has. */
  #abandon(job: Job): void {
    const place = this.#long.indexOf(job);
    const thread = this.#threads.find((each) => each.job === job);
    if (thread !== undefined) Atomics.store(thread.unwanted, 0, 1);
    else if (place >= 0) this.#long.splice(place, 1)[0]?.reject(job.cancellation?.reason);
  }

  #next(): void {
    for (const [waiting, most] of [
      [this.#short, this.#size + 2],
      [this.#long, this.#size + 1],
    ] as const) {
      while (waiting.length > 0) {
        const thread = this.#freeThread(most);
        const job = thread === undefined ? undefined : waiting.shift();
        if (thread === undefined || job === undefined) break;
        thread.job = job;
        Atomics.store(thread.unwanted, 0, 0);
        // Only a thread at work keeps the process alive.
        thread.worker.ref();
        thread.worker.postMessage({ kind: 'ask', question: job.question } satisfies Request);
      }
    }
  }

  /** An idle thread, or a new one if all are at long questions. Undefined if `most` are at long questions: short ones end soon. */
  #freeThread(most: number): Thread | undefined {
    const long = this.#threads.filter(({ job }) => job !== undefined && isLong(job)).length;
    if (long >= most) return undefined;
    const idle = this.#threads.find(({ job }) => job === undefined);
    if (idle !== undefined) return idle;
    return this.#threads.length < this.#size || long === this.#threads.length ? this.#start() : undefined;
  }

  #finish(thread: Thread, reply: Answered): void {
    const { job } = thread;
    delete thread.job;
    thread.worker.unref();
    const reason = job?.cancellation?.reason;
    if (reason !== undefined) job?.reject(reason);
    else if (reply.kind === 'answer') job?.resolve(reply.answer);
    else job?.reject(errorOf(reply));
    this.#next();
  }

  /** A dead thread is replaced when the next question needs one. */
  #lose(thread: Thread, failure: unknown): void {
    this.#threads.splice(this.#threads.indexOf(thread), 1);
    thread.job?.reject(new ReadModelsUnavailableError('A reader thread has died.', { cause: failure }));
    if (!this.#closed) this.#next();
  }

  /** Questions in flight are answered; those that wait are refused. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const job of [...this.#short.splice(0), ...this.#long.splice(0)]) job.reject(closed());
    await Promise.all([
      this.#rankings.close(),
      ...this.#threads.map(({ worker }) => {
        worker.ref();
        worker.postMessage({ kind: 'close' } satisfies Request);
        return once(worker, 'exit');
      }),
    ]);
  }
}

function errorOf(reply: Exclude<Answered, { kind: 'answer' }>): Error {
  switch (reply.kind) {
    case 'too large':
      return new AnswerTooLargeError(reply.message);
    case 'withheld':
      return new ReadModelsWithheldError(reply.message);
    case 'damaged':
      return new ReadModelsUnavailableError(reply.message);
    case 'error':
      return reply.error;
  }
}

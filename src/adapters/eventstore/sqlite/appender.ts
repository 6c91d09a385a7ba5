import { Worker } from 'node:worker_threads';
import {
  type AppendResult,
  EventStoreUnavailableError,
  type EventToAppend,
  type ExpectedRevision,
  type Position,
  type Revision,
  WrongExpectedRevisionError,
} from '../../../ports/eventStore.js';
import { threadLimits } from '../../threadLimits.js';
import { touch } from './commitNews.js';
import { type EncodedEvent, encodeAppend } from './encoding.js';
import type { Durability } from './logFile.js';

/** The appender thread's `workerData`. */
export type AppenderSettings = {
  /** The file's real path. */
  readonly file: string;
  readonly durability: Durability;
  readonly busyTimeoutMs: number;
};

/** One call of `append`, as sent to the appender thread. */
export type AppendRequest = {
  readonly ticket: number;
  readonly stream: string;
  readonly events: readonly EncodedEvent[];
  readonly expectedRevision: ExpectedRevision;
  /** Characters of data and metadata; limits the size of a group. */
  readonly size: number;
};

export type AppenderMessage = AppendRequest | 'close';

/** The answer to one request, sent after its group was committed or has failed. */
export type AppendAnswer = { readonly ticket: number } & (
  | { readonly kind: 'stored'; readonly revision: Revision; readonly position: Position }
  | { readonly kind: 'conflict'; readonly actual: Revision | 'no-stream' }
  | { readonly kind: 'failed'; readonly reason: string; readonly mayBeStored: boolean }
);

type Pending = Pick<AppendRequest, 'stream' | 'expectedRevision'> & {
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: Error) => void;
};

/** The caller's side of the appender thread: sends appends and resolves their answers. */
export class Appender {
  /** Whether the last commit failed. */
  isFailing = false;
  readonly #settings: AppenderSettings;
  /** Resolves when all earlier appends have been sent to the thread, or refused. */
  #sent: Promise<void> = Promise.resolve();
  readonly #pending = new Map<number, Pending>();
  #lastTicket = 0;
  #worker: Worker | undefined;
  #closed = false;
  /** The thread ends with the process, perhaps before it has told other processes. */
  readonly #tellAtExit = (): void => touch(this.#settings.file);

  constructor(settings: AppenderSettings) {
    this.#settings = settings;
  }

  /** Starts the thread early, so that the first append need not wait for it. */
  start(): void {
    this.#worker ??= this.#start();
    this.#worker.unref();
  }

  /** See `EventStore.append`. */
  async append(
    stream: string,
    events: readonly EventToAppend[],
    expectedRevision: ExpectedRevision,
  ): Promise<AppendResult> {
    if (this.#closed) throw new EventStoreUnavailableError('The event store is closed.');
    // Sent in the order of the calls, even if an earlier one takes longer to encode: copying a log relies on it.
    const sending = Promise.all([encodeAppend(stream, events), this.#sent]).then(([encoded]) =>
      this.#send(stream, encoded, expectedRevision),
    );
    // Drops the results: each promise would keep those of all appends before it alive.
    this.#sent = Promise.allSettled([this.#sent, sending]).then(() => undefined);
    const { answer } = await sending;
    return answer;
  }

  /** Finishes the queued appends and ends the thread. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#sent;
    process.off('exit', this.#tellAtExit);
    const worker = this.#worker;
    if (worker === undefined) return;
    worker.ref();
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    worker.postMessage('close' satisfies AppenderMessage);
    await ended;
  }

  #send(stream: string, events: readonly EncodedEvent[], expectedRevision: ExpectedRevision) {
    const size = events.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0);
    const ticket = ++this.#lastTicket;
    const request: AppendRequest = { ticket, stream, events, expectedRevision, size };
    const answer = new Promise<AppendResult>((resolve, reject) => {
      this.#pending.set(ticket, { stream, expectedRevision, resolve, reject });
      // The first append starts the thread, so that a store that only reads has none.
      this.#worker ??= this.#start();
      this.#worker.ref();
      this.#worker.postMessage(request);
    });
    // Wrapped, since returning the promise itself would wait for it here.
    return { answer };
  }

  #start(): Worker {
    process.off('exit', this.#tellAtExit);
    process.once('exit', this.#tellAtExit);
    const worker = new Worker(new URL('./appender.worker.js', import.meta.url), {
      workerData: this.#settings,
      resourceLimits: threadLimits(16),
    });
    let reason = 'it stopped';
    worker.on('message', (answers: readonly AppendAnswer[]) => this.#receive(answers));
    worker.on('error', (error) => {
      reason = String(error);
    });
    // No append outlives its thread: those without an answer may or may not be stored.
    worker.on('exit', () => {
      this.#worker = undefined;
      const error = new EventStoreUnavailableError(`The appender thread ended: ${reason}.`, { mayBeStored: true });
      for (const { reject } of this.#pending.values()) reject(error);
      this.#pending.clear();
    });
    return worker;
  }

  /** @param answers of one group, which failed as a whole or not at all */
  #receive(answers: readonly AppendAnswer[]): void {
    this.isFailing = answers[0]?.kind === 'failed';
    for (const answer of answers) {
      const pending = this.#pending.get(answer.ticket);
      this.#pending.delete(answer.ticket);
      if (pending !== undefined) resolveOrReject(pending, answer);
    }
    // An idle thread does not keep the process running; one that is closing does, until it ends.
    if (this.#pending.size === 0 && !this.#closed) this.#worker?.unref();
  }
}

function resolveOrReject({ stream, expectedRevision, resolve, reject }: Pending, answer: AppendAnswer): void {
  if (answer.kind === 'stored') {
    resolve({ revision: answer.revision, position: answer.position });
  } else if (answer.kind === 'conflict') {
    reject(new WrongExpectedRevisionError(stream, expectedRevision, answer.actual));
  } else {
    const { mayBeStored } = answer;
    reject(new EventStoreUnavailableError(`The append was not committed: ${answer.reason}`, { mayBeStored }));
  }
}

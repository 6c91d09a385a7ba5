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
};

export type AppenderMessage = AppendRequest | 'close';

/** The answer to one request, sent after its group was committed or has failed. */
export type AppendAnswer = { readonly ticket: number } & (
  | { readonly kind: 'stored'; readonly revision: Revision; readonly position: Position }
  | { readonly kind: 'conflict'; readonly actual: Revision | 'no-stream' }
  | { readonly kind: 'failed'; readonly reason: string; readonly mayBeStored: boolean }
);

type Pending = {
  readonly resolve: (answer: AppendAnswer) => void;
  readonly reject: (error: Error) => void;
};

/** The name of the channel that announces a file's new head. @param file its real path */
export const headsOf = (file: string): string => `event-log ${file}`;

/** The caller's side of the appender thread: sends appends and resolves their answers. */
export class Appender {
  /** Whether the last commit failed. */
  isFailing = false;
  readonly #settings: AppenderSettings;
  readonly #pending = new Map<number, Pending>();
  #lastTicket = 0;
  #worker: Worker | undefined;
  #closed = false;

  constructor(settings: AppenderSettings) {
    this.#settings = settings;
  }

  /** Starts the thread, unless it runs. */
  start(): Worker {
    this.#worker ??= this.#start();
    this.#worker.unref();
    return this.#worker;
  }

  /** See `EventStore.append`. Sent in the order of the calls: copying a log relies on it. */
  async append(
    stream: string,
    events: readonly EventToAppend[],
    expectedRevision: ExpectedRevision,
  ): Promise<AppendResult> {
    if (this.#closed) throw new EventStoreUnavailableError('The event store is closed.');
    const ticket = ++this.#lastTicket;
    const request: AppendRequest = { ticket, stream, events: encodeAppend(stream, events), expectedRevision };
    // The first append starts the thread, so that a store that only reads has none.
    const worker = this.start();
    worker.ref();
    worker.postMessage(request);
    const answer = await new Promise<AppendAnswer>((resolve, reject) => this.#pending.set(ticket, { resolve, reject }));
    if (answer.kind === 'stored') return { revision: answer.revision, position: answer.position };
    if (answer.kind === 'conflict') throw new WrongExpectedRevisionError(stream, expectedRevision, answer.actual);
    const { reason, mayBeStored } = answer;
    throw new EventStoreUnavailableError(`The append was not committed: ${reason}`, { mayBeStored });
  }

  /** Finishes the queued appends and ends the thread. */
  async close(): Promise<void> {
    this.#closed = true;
    const worker = this.#worker;
    if (worker === undefined) return;
    worker.ref();
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    worker.postMessage('close' satisfies AppenderMessage);
    await ended;
  }

  #start(): Worker {
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
      this.#pending.get(answer.ticket)?.resolve(answer);
      this.#pending.delete(answer.ticket);
    }
    // An idle thread does not keep the process running; one that is closing does, until it ends.
    if (this.#pending.size === 0 && !this.#closed) this.#worker?.unref();
  }
}

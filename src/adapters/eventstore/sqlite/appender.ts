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

type Pending = AppendRequest & {
  readonly resolve: (result: AppendResult) => void;
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

  /** Starts the thread early, so that the first append need not wait for it. */
  start(): void {
    this.#worker ??= this.#start();
    this.#worker.unref();
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
    return new Promise((resolve, reject) => {
      this.#pending.set(ticket, { ...request, resolve, reject });
      // The first append starts the thread, so that a store that only reads has none.
      this.#worker ??= this.#start();
      this.#worker.ref();
      this.#worker.postMessage(request);
    });
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

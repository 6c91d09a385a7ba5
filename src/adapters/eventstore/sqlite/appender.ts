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
import { youngHeap } from '../../youngHeap.js';
import { type EncodedEvent, encodeAppend } from './encoding.js';
import type { Durability } from './schema.js';

/** What the appender thread is started with. */
export type AppenderSettings = {
  readonly file: string;
  readonly durability: Durability;
  readonly busyTimeoutMs: number;
  /** Name of the BroadcastChannel that notifies readers of a commit. */
  readonly channel: string;
};

/** One call of `append`, on its way to the appender thread. */
export type AppendRequest = {
  readonly kind: 'append';
  readonly ticket: number;
  readonly stream: string;
  readonly events: readonly EncodedEvent[];
  readonly expectedRevision: ExpectedRevision;
  /** Characters of data and metadata; limits the size of a group. */
  readonly size: number;
};

export type AppenderMessage = AppendRequest | { readonly kind: 'close' };

export type AppendOutcome =
  | { readonly kind: 'stored'; readonly revision: Revision; readonly position: Position }
  | { readonly kind: 'conflict'; readonly actual: Revision | 'no-stream' };

/** The answer to a group of requests, sent after its commit. */
export type GroupAnswer =
  | {
      readonly kind: 'committed';
      readonly outcomes: readonly { readonly ticket: number; readonly outcome: AppendOutcome }[];
    }
  | { readonly kind: 'failed'; readonly tickets: readonly number[]; readonly reason: string };

type Pending = {
  readonly stream: string;
  readonly expectedRevision: ExpectedRevision;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: Error) => void;
};

/** The caller's side of the appender thread: sends it appends, and gives each its answer. */
export class Appender {
  /** Transactions committed, and appends answered by them. */
  commits = 0;
  appends = 0;
  readonly #settings: AppenderSettings;
  readonly #pending = new Map<number, Pending>();
  #lastTicket = 0;
  #worker: Worker | undefined;
  #closed = false;

  constructor(settings: AppenderSettings) {
    this.#settings = settings;
  }

  /** See `EventStore.append`. */
  async append(
    stream: string,
    events: readonly EventToAppend[],
    expectedRevision: ExpectedRevision,
  ): Promise<AppendResult> {
    if (this.#closed) throw new EventStoreUnavailableError('The event store is closed.');
    const encoded = encodeAppend(stream, events);
    const size = encoded.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0);
    const ticket = ++this.#lastTicket;
    const request: AppendRequest = { kind: 'append', ticket, stream, events: encoded, expectedRevision, size };
    return new Promise((resolve, reject) => {
      this.#pending.set(ticket, { stream, expectedRevision, resolve, reject });
      this.#send(request);
    });
  }

  /** Lets the queued appends finish and ends the thread. */
  async close(): Promise<void> {
    this.#closed = true;
    const worker = this.#worker;
    if (worker === undefined) return;
    worker.ref();
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    const close: AppenderMessage = { kind: 'close' };
    worker.postMessage(close);
    await ended;
  }

  /** The first append starts the thread, so that a store that only reads has none. */
  #send(request: AppendRequest): void {
    this.#worker ??= this.#start();
    this.#worker.ref();
    this.#worker.postMessage(request);
  }

  #start(): Worker {
    const worker = new Worker(new URL('./appender.worker.js', import.meta.url), {
      workerData: this.#settings,
      resourceLimits: youngHeap(16),
    });
    let reason = 'it stopped';
    worker.on('message', (answer: GroupAnswer) => this.#receive(answer));
    worker.on('error', (error) => {
      reason = String(error);
    });
    // No append outlives its thread: what was not answered may or may not be stored.
    worker.on('exit', () => {
      this.#worker = undefined;
      this.#failAll([...this.#pending.keys()], `The appender thread ended: ${reason}.`);
    });
    return worker;
  }

  #receive(answer: GroupAnswer): void {
    if (answer.kind === 'failed') {
      this.#failAll(answer.tickets, `The append was not committed: ${answer.reason}`);
    } else {
      this.commits += 1;
      this.appends += answer.outcomes.length;
      for (const { ticket, outcome } of answer.outcomes) this.#answer(ticket, outcome);
    }
    // An idle thread does not keep the process running; one that is being closed does, to its end.
    if (this.#pending.size === 0 && !this.#closed) this.#worker?.unref();
  }

  #answer(ticket: number, outcome: AppendOutcome): void {
    const pending = this.#take(ticket);
    if (pending === undefined) return;
    if (outcome.kind === 'stored') {
      pending.resolve({ revision: outcome.revision, position: outcome.position });
    } else {
      pending.reject(new WrongExpectedRevisionError(pending.stream, pending.expectedRevision, outcome.actual));
    }
  }

  #failAll(tickets: readonly number[], reason: string): void {
    for (const ticket of tickets) this.#take(ticket)?.reject(new EventStoreUnavailableError(reason));
  }

  #take(ticket: number): Pending | undefined {
    const pending = this.#pending.get(ticket);
    this.#pending.delete(ticket);
    return pending;
  }
}

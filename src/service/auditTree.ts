/** The tree over the log, kept by a thread of its own: hashing large events would hold up requests. */
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { threadLimits } from '../adapters/threadLimits.js';
import type { SignedCheckpoint } from '../audit/checkpoints.js';
import type { EventProof, ProvedEvents, Unproved } from '../audit/proof.js';
import type { Config } from '../config.js';
import { keepRunning } from '../supervision/keepRunning.js';
import { sleep } from '../supervision/waiting.js';
import { figure } from './figures.js';

/** What the thread is asked, and what it answers. */
type Asked = {
  proof: [question: { readonly eventId: string; readonly tenant: string }, answer: EventProof | Unproved];
  checkpoint: [question: object, answer: SignedCheckpoint | 'none'];
  /** Proofs that the checkpoint of this note covers the events; without one, none has a proof. */
  stream: [
    question: { readonly stream: string; readonly from: number; readonly note: string | undefined },
    answer: ProvedEvents,
  ];
};
type Kind = keyof Asked;

export type TreeQuestion = { [K in Kind]: { readonly kind: K } & Asked[K][0] }[Kind];
export type TreeAnswers = { [K in Kind]: Asked[K][1] };

/** `answer` undefined: the tree is being made, or must be made again, which has begun. */
type Answered = { readonly request: number; readonly answer: TreeAnswers[Kind] | undefined };

export type TreeMessage =
  | { readonly kind: 'moved'; readonly position: number; readonly size: number }
  | { readonly kind: 'checkpoint'; readonly note: string }
  | { readonly kind: 'contradiction'; readonly error: Error }
  | ({ readonly kind: 'answered' } & Answered)
  | { readonly kind: 'failed'; readonly error: Error };

export type TreeRequest = 'stop' | { readonly request: number; readonly question: TreeQuestion };

export type TreeThreadData = Pick<Config, 'DATA_DIR' | 'DURABILITY' | 'EVENTSTORE_URL' | 'CHECKPOINT_MINUTES'> & {
  readonly CHECKPOINT_DIR: string | undefined;
};

/** A start has more urgent work, and what is stopped soon needs no tree. */
const START_AFTER_MS = 5_000;
const BACKOFF = { firstMs: 1_000, longestMs: 60_000 };

export class AuditTree {
  readonly #data: TreeThreadData;
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  readonly #asked = new Map<number, (answer: Answered['answer']) => void>();
  #requests = 0;
  #worker: Worker | undefined;
  #running: Promise<void> = Promise.resolve();
  #told = '';
  /** Undefined until the thread has told. */
  #moved: { readonly position: number; readonly size: number } | undefined;
  #checkpointAt: number | undefined;
  #isContradicted = false;

  private constructor(data: TreeThreadData, log: Logger) {
    this.#data = data;
    this.#log = log;
  }

  /** @param head position of the log's last event */
  static start(config: Config, log: Logger, registry: Registry, head: () => Promise<number>): AuditTree {
    const { DATA_DIR, DURABILITY, EVENTSTORE_URL, CHECKPOINT_MINUTES, CHECKPOINT_DIR } = config;
    const tree = new AuditTree({ DATA_DIR, DURABILITY, EVENTSTORE_URL, CHECKPOINT_MINUTES, CHECKPOINT_DIR }, log);
    tree.#running = tree.#keepRunning();
    tree.#register(registry, head);
    return tree;
  }

  /** Undefined if the tree is not ready: ask again later. */
  async ask<K extends Kind>(question: { readonly kind: K } & TreeQuestion): Promise<TreeAnswers[K] | undefined> {
    const worker = this.#worker;
    if (worker === undefined || this.#moved === undefined) return undefined;
    this.#requests += 1;
    const request = this.#requests;
    return new Promise((resolve) => {
      // The thread answers each question with an answer of its kind.
      this.#asked.set(request, (answer) => resolve(answer as TreeAnswers[K] | undefined));
      worker.postMessage({ request, question } satisfies TreeRequest);
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #keepRunning(): Promise<void> {
    const { signal } = this.#stopping;
    await sleep(START_AFTER_MS, signal);
    await keepRunning(() => this.#run(signal), { signal, backoff: BACKOFF, onFailure: () => undefined });
  }

  /** Resolves when the thread has ended for any reason. */
  async #run(signal: AbortSignal): Promise<void> {
    const worker = new Worker(new URL('./audit.worker.js', import.meta.url), {
      workerData: this.#data,
      resourceLimits: threadLimits(16),
    });
    this.#worker = worker;
    worker.on('message', (message: TreeMessage) => this.#receive(message));
    worker.on('error', (error) => this.#receive({ kind: 'failed', error }));
    const stop = (): void => worker.postMessage('stop' satisfies TreeRequest);
    signal.addEventListener('abort', stop);
    await new Promise((resolve) => worker.once('exit', resolve));
    signal.removeEventListener('abort', stop);
    this.#worker = undefined;
    for (const answer of this.#asked.values()) answer(undefined);
    this.#asked.clear();
  }

  #receive(message: TreeMessage): void {
    switch (message.kind) {
      case 'moved':
        this.#moved = message;
        this.#told = '';
        return;
      case 'checkpoint':
        this.#checkpointAt = Date.now();
        this.#isContradicted = false;
        // The log of the service is often kept elsewhere: then it holds checkpoints for an audit.
        this.#log.info({ checkpoint: message.note }, 'a checkpoint of the event log was signed');
        return;
      case 'contradiction':
        this.#isContradicted = true;
        this.#log.error({ err: message.error }, 'the event log contradicts its last checkpoint');
        return;
      case 'answered':
        this.#asked.get(message.request)?.(message.answer);
        this.#asked.delete(message.request);
        return;
      case 'failed':
        // A lasting failure is met at each retry.
        if (message.error.message === this.#told) return;
        this.#told = message.error.message;
        this.#log.warn({ err: message.error }, 'the tree over the event log stands still, and is tried again');
    }
  }

  #register(registry: Registry, head: () => Promise<number>): void {
    const gauge = figure.bind(undefined, registry);
    gauge('audit_tree_events', 'Events in the Merkle tree over the log.', () => this.#moved?.size);
    gauge('audit_tree_lag', 'Positions of the log that the Merkle tree has not reached yet.', async () => {
      const position = this.#moved?.position;
      return position === undefined ? undefined : Math.max(0, (await head()) - position);
    });
    gauge('audit_checkpoint_age_seconds', 'Age of the last checkpoint that this process signed.', () =>
      this.#checkpointAt === undefined ? undefined : (Date.now() - this.#checkpointAt) / 1000,
    );
    gauge('audit_log_contradicted', '1 if the event log contradicts its last checkpoint: it was changed.', () =>
      Number(this.#isContradicted),
    );
  }
}

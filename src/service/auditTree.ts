/** The tree over the log, kept by a thread of its own: hashing large events would hold up requests. */
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { SignedCheckpoint } from '../audit/checkpoints.js';
import type { EventProof, ProvedEvents, Unproved } from '../audit/proof.js';
import type { Config } from '../config.js';
import { one, registerGauges } from './figures.js';
import { keepThread } from './thread.js';

/** What the thread is asked, and what it answers. */
type Questions = {
  proof: [question: { readonly eventId: string; readonly tenant: string }, answer: EventProof | Unproved];
  checkpoint: [question: object, answer: SignedCheckpoint | 'none'];
  /** Proofs that the checkpoint of this note covers the events; without one, none has a proof. */
  stream: [
    question: { readonly stream: string; readonly from: number; readonly note: string | undefined },
    answer: ProvedEvents,
  ];
};
type Kind = keyof Questions;

export type TreeQuestion = { [K in Kind]: { readonly kind: K } & Questions[K][0] }[Kind];

export type TreeMessages = {
  readonly request: TreeQuestion;
  readonly progress: never;
  /** Undefined: the tree is being made, or must be made again, which has begun. */
  readonly answer: Questions[Kind][1] | undefined;
  readonly news:
    | { readonly kind: 'moved' }
    | { readonly kind: 'checkpoint'; readonly note: string }
    | { readonly kind: 'contradiction'; readonly message: string };
};

export type TreeThreadData = Pick<Config, 'DATA_DIR' | 'DURABILITY' | 'EVENTSTORE_URL' | 'CHECKPOINT_MINUTES'> & {
  readonly CHECKPOINT_DIR: string | undefined;
};

/** A start has more urgent work, and what is stopped soon needs no tree. */
const START_AFTER_MS = 5_000;
const BACKOFF = { firstMs: 1_000, longestMs: 60_000 };

export function startAuditTree(config: Config, log: Logger, registry: Registry) {
  const { DATA_DIR, DURABILITY, EVENTSTORE_URL, CHECKPOINT_MINUTES, CHECKPOINT_DIR } = config;
  const workerData = { DATA_DIR, DURABILITY, EVENTSTORE_URL, CHECKPOINT_MINUTES, CHECKPOINT_DIR };
  let hasBegun = false;
  let isContradicted = false;
  const thread = keepThread<TreeMessages>(new URL('./audit.worker.js', import.meta.url), {
    workerData: workerData satisfies TreeThreadData,
    backoff: BACKOFF,
    startAfterMs: START_AFTER_MS,
    onNews(news) {
      if (news.kind === 'moved') hasBegun = true;
      else if (news.kind === 'checkpoint') {
        isContradicted = false;
        // The log of the service is often kept elsewhere: then it holds checkpoints for an audit.
        log.info({ checkpoint: news.note }, 'a checkpoint of the event log was signed');
      } else {
        isContradicted = true;
        log.error({ reason: news.message }, 'the event log contradicts its last checkpoint');
      }
    },
    onFailure: (err) => log.warn({ err }, 'the tree over the event log stands still, and is tried again'),
  });

  registerGauges(registry, {
    audit_log_contradicted: [
      '1 if the event log contradicts its last checkpoint: it was changed.',
      () => one(Number(isContradicted)),
    ],
  });

  return {
    /** Undefined if the tree is not ready: ask again later. */
    async ask<K extends Kind>(question: { readonly kind: K } & TreeQuestion): Promise<Questions[K][1] | undefined> {
      if (!hasBegun) return undefined;
      // The thread answers each question with an answer of its kind.
      return thread.ask(question).catch(() => undefined) as Promise<Questions[K][1] | undefined>;
    },
    stop: thread.stop,
  };
}

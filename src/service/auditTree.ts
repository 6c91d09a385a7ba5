/** The tree over the log: where it is, and the thread that keeps it, as hashing large events would hold up requests. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { openLeafIndex } from '../adapters/leafIndex.js';
import type { ApiDeps, TreeQuestion, TreeQuestions } from '../api/deps.js';
import { LogTree, type TreeLog } from '../audit/logTree.js';
import type { Config } from '../config.js';
import type { JobNews, JobRequest, RunJob } from '../projections/jobs.js';
import { one, registerGauges } from '../supervision/gauges.js';
import { AUDIT, backUp, KEYS } from './dataDirectory.js';
import { keepThread } from './thread.js';

export const treeDirectory = ({ DATA_DIR }: Config): string => join(DATA_DIR, AUDIT);
export const keyDirectory = ({ DATA_DIR }: Config): string => join(DATA_DIR, KEYS);

/** Opens the tree in its directory, which is made if it is missing. The caller closes its index. @throws what the log throws */
export async function openTree(log: TreeLog, directory: string): Promise<LogTree> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const index = openLeafIndex(join(directory, 'leaves.db'));
  try {
    return await LogTree.open(log, index, directory);
  } catch (error) {
    index.close();
    throw error;
  }
}

export type TreeMessages = {
  readonly request:
    | { [Kind in keyof TreeQuestions]: TreeQuestion<Kind> }[keyof TreeQuestions]
    | { readonly kind: 'job'; readonly job: JobRequest };
  readonly progress: JobNews;
  /** Undefined: the tree is being made, or must be made again, which has begun. */
  readonly answer: TreeQuestions[keyof TreeQuestions][1] | undefined;
  readonly news: { readonly checkpoint: string } | { readonly contradiction: string };
};

/** A start has more urgent work, and what is stopped soon needs no tree. */
const START_AFTER_MS = 5_000;
const BACKOFF = { firstMs: 1_000, longestMs: 60_000 };

export function startAuditTree(config: Config, log: Logger, registry: Registry) {
  let isContradicted = false;
  const thread = keepThread<TreeMessages>(new URL('./audit.worker.js', import.meta.url), {
    workerData: config,
    backoff: BACKOFF,
    startAfterMs: START_AFTER_MS,
    onNews(news) {
      isContradicted = 'contradiction' in news;
      // The log of the service is often kept elsewhere: then it holds checkpoints for an audit.
      if ('checkpoint' in news) log.info(news, 'a checkpoint of the event log was signed');
      else log.error({ reason: news.contradiction }, 'the event log contradicts its last checkpoint');
    },
    onFailure: (err) => log.warn({ err }, 'the tree over the event log stands still, and is tried again'),
  });
  registerGauges(registry, {
    audit_log_contradicted: [
      '1 if the event log contradicts its last checkpoint: it was changed.',
      () => one(Number(isContradicted)),
    ],
  });
  // The thread answers each question with an answer of its kind.
  const ask = (question: TreeMessages['request']) => thread.ask(question).catch(() => undefined);
  const run: RunJob = (job, signal, tell) =>
    job.kind === 'backup' ? backUp(config, signal) : thread.ask({ kind: 'job', job }, signal, tell);
  return { ask: ask as ApiDeps['askTree'], run, stop: thread.stop };
}

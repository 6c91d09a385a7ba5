/** Starts the thread that follows the log and writes rows, and keeps it running, with restarts while an engine is away. */
import { randomUUID } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { threadLimits } from '../adapters/threadLimits.js';
import type { Config } from '../config.js';
import type { JobProgress, JobReport, JobRequest, RunRowJob } from '../ports/rowJobs.js';
import type { Tracer } from '../ports/tracing.js';
import type { FollowerNews } from '../projections/progress.js';
import { keepRunning } from '../supervision/keepRunning.js';
import { traceShown } from './tracing.js';

export type AskedOfRows =
  | { readonly kind: 'stop' }
  | { readonly kind: 'job'; readonly id: string; readonly request: JobRequest }
  | { readonly kind: 'cancel'; readonly id: string };

export type ToldOfRows =
  | { readonly kind: 'news'; readonly news: FollowerNews }
  /** Events of these traces are shown now; sent only if tracing is on. */
  | { readonly kind: 'traces'; readonly traceparents: readonly string[] }
  | { readonly kind: 'progress'; readonly id: string; readonly progress: JobProgress }
  | { readonly kind: 'report'; readonly id: string; readonly report: JobReport }
  | { readonly kind: 'ended'; readonly id: string; readonly error?: Error }
  | { readonly kind: 'failed'; readonly error: Error };

export type RowsConfig = Config & { readonly acceptLog: boolean };

/** Successive threads of one process share the owner. */
export type RowsThreadData = RowsConfig & { readonly owner: string };

/** Starting a thread takes 200 ms of processor time. */
const BACKOFF = { firstMs: 100, longestMs: 3_000 };

/** A thread that was asked to stop and has not, as when an engine does not answer, is ended after this time. */
const STOP_MS = 5_000;

/** The same failure is logged again after this time. */
const SAME_FAILURE_MS = 60_000;

type RowsThread = {
  /** The last failure; undefined while the thread runs. */
  readonly failure: () => Error | undefined;
  readonly run: RunRowJob;
  readonly stop: () => Promise<void>;
};

type Around = {
  readonly log: Logger;
  readonly tracer: Tracer | undefined;
  readonly onNews: (news: FollowerNews) => void;
};

export function startRowsThread(config: RowsConfig, { log, tracer, onNews }: Around): RowsThread {
  const owner = randomUUID();
  const stopping = new AbortController();
  const jobs = new Map<string, (told: ToldOfRows) => void>();
  let worker: Worker | undefined;
  let failure: Error | undefined;
  let told = { message: '', at: 0 };

  const receive = (message: ToldOfRows): void => {
    switch (message.kind) {
      case 'news':
        // Its first news is how far the rows are.
        failure = undefined;
        logNews(log, message.news);
        onNews(message.news);
        return;
      case 'traces':
        if (tracer !== undefined) traceShown(tracer, message.traceparents);
        return;
      case 'failed':
        failure = message.error;
        // A lasting failure, such as a damaged event log, is met at each retry.
        if (failure.message !== told.message || performance.now() - told.at > SAME_FAILURE_MS) {
          told = { message: failure.message, at: performance.now() };
          log.error({ err: failure }, 'the rows are not followed; they stand still until that goes on');
        }
        return;
      default:
        jobs.get(message.id)?.(message);
    }
  };
  /** Resolves when the thread has ended for any reason. */
  const runThread = async (): Promise<void> => {
    const started = new Worker(new URL('./rows.worker.js', import.meta.url), {
      workerData: { ...config, owner } satisfies RowsThreadData,
      resourceLimits: threadLimits(16),
    });
    worker = started;
    started.on('message', receive);
    started.on('error', (error) => receive({ kind: 'failed', error }));
    let timer: NodeJS.Timeout | undefined;
    const stop = (): void => {
      started.postMessage({ kind: 'stop' } satisfies AskedOfRows);
      timer = setTimeout(() => void started.terminate(), STOP_MS);
    };
    stopping.signal.addEventListener('abort', stop);
    await new Promise((resolve) => started.once('exit', resolve));
    stopping.signal.removeEventListener('abort', stop);
    clearTimeout(timer);
    worker = undefined;
    for (const [id, end] of jobs)
      end({ kind: 'ended', id, error: new Error('The thread that did the work has ended.') });
  };
  const ended = keepRunning(runThread, {
    signal: stopping.signal,
    backoff: BACKOFF,
    onFailure: ({ delayMs }) => log.info({ delayMs }, 'the rows are followed again'),
  });

  const run: RunRowJob = async (request, { onProgress, onReport }, signal) => {
    const id = randomUUID();
    const ask = (asked: AskedOfRows): void => worker?.postMessage(asked);
    const cancel = (): void => ask({ kind: 'cancel', id });
    signal.addEventListener('abort', cancel);
    try {
      await new Promise<void>((resolve, reject) => {
        jobs.set(id, (message) => {
          if (message.kind === 'progress') onProgress(message.progress);
          else if (message.kind === 'report') onReport(message.report);
          else if (message.kind === 'ended' && message.error !== undefined) reject(message.error);
          else if (message.kind === 'ended') resolve();
        });
        if (worker === undefined) reject(failure ?? new Error('The rows are not followed now.'));
        ask({ kind: 'job', id, request });
      });
    } finally {
      signal.removeEventListener('abort', cancel);
      jobs.delete(id);
    }
  };
  return {
    failure: () => failure,
    run,
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}

function logNews(log: Logger, news: FollowerNews): void {
  switch (news.kind) {
    case 'parked': {
      const { tenant, parked } = news;
      const help = `Start a release with a fix, or mend the cause, then: dynamic-assets projections retry --tenant ${tenant}`;
      log.error({ tenant, ...parked, help }, 'an event cannot be applied: the rows of this tenant are parked');
      return;
    }
    case 'filling':
      if (news.reason !== undefined)
        log.error(
          news,
          'the rows of a tenant cannot be used and are set aside: new ones are filled from the event log',
        );
      return;
    case 'reset':
      log.warn(news.reason);
      return;
    default:
  }
}

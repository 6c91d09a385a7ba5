/** The thread that follows the log and writes rows, as the process sees it. */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Config } from '../config.js';
import type { JobNews, JobRequest } from '../projections/jobs.js';
import type { FollowerNews } from '../projections/progress.js';
import { afterFix } from '../projections/tenantTexts.js';
import { keepThread } from './thread.js';

export type RowsMessages = {
  readonly request: JobRequest;
  readonly progress: JobNews;
  readonly answer: undefined;
  readonly news: FollowerNews;
};

type RowsConfig = Config & { readonly acceptLog: boolean };

/** Successive threads of one process share the owner. */
export type RowsThreadData = RowsConfig & { readonly owner: string };

/** Starting a thread takes 200 ms of processor time. */
const BACKOFF = { firstMs: 100, longestMs: 3_000 };

export function startRowsThread(config: RowsConfig, log: Logger, onNews: (news: FollowerNews) => void) {
  const thread = keepThread<RowsMessages>(new URL('./rows.worker.js', import.meta.url), {
    workerData: { ...config, owner: randomUUID() } satisfies RowsThreadData,
    backoff: BACKOFF,
    onNews(news) {
      logNews(log, news);
      onNews(news);
    },
    onFailure: (err) => log.error({ err }, 'no rows are written; it is tried again'),
  });
  return { run: thread.ask, failure: thread.failure, stop: thread.stop };
}

function logNews(log: Logger, news: FollowerNews): void {
  if (news.kind === 'parked') {
    const { tenant, parked } = news;
    log.error(
      { tenant, ...parked, help: afterFix(tenant) },
      'an event cannot be applied: the rows of this tenant are parked',
    );
  } else if (news.kind === 'filling' && news.reason !== undefined)
    log.error(news, 'the rows of a tenant cannot be used: new ones are filled from the event log');
  else if (news.kind === 'reset')
    log.warn('The event log was put back to an older copy, or is another one: all rows are made again.');
}

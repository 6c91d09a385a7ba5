/** What the operator's console shows of the installation, from the parts that a process has. */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { OperatorParts } from '../api/deps.js';
import { MAX_ENTRIES, MAX_SHORT_PAGE } from '../domain/limits.js';
import type { EventStore } from '../ports/eventStore.js';
import type { Directory } from '../projections/directory/directory.js';
import type { Progress } from '../projections/progress.js';
import { isGood, type JobReport, type RowJob, type RowJobs } from '../projections/rowJobs.js';
import type { AskChecks } from './checks.js';
import type { startRowsThread } from './rowsThread.js';

type RunRowJob = ReturnType<typeof startRowsThread>['run'];
type ServiceParts = {
  readonly log: Logger;
  readonly eventStore: EventStore;
  readonly ask: AskChecks;
  readonly parked: OperatorParts['parked'];
  /** Undefined without the role projector. */
  readonly runJob: RunRowJob | undefined;
};

const notFollowing: RunRowJob = async () => {
  throw new Error('This process does not have the role projector: ask one that has it.');
};

export const operatorParts = ({ runJob, log, eventStore, parked, ask }: ServiceParts): OperatorParts => ({
  jobs: rowJobs(runJob ?? notFollowing, log),
  eventStore,
  parked,
  checks: () => ask('console'),
});

/** Each parked tenant once: one that is parked in the directory may be in its rows too. */
export function parkedTenants({ directory, progress }: { readonly directory: Directory; readonly progress: Progress }) {
  const ofDirectory = directory.parked().map((each) => ({ ...each, what: 'directory' as const }));
  const names = new Set(ofDirectory.map(({ tenant }) => tenant));
  const ofRows = progress.parked().filter(({ tenant }) => !names.has(tenant));
  return [...ofDirectory, ...ofRows.map((each) => ({ ...each, what: 'rows' as const }))];
}

type Job = { -readonly [Name in keyof RowJob]: RowJob[Name] };

/** The rebuilds, verifications and retries that operators ask this process for: one at a time, as each reads the whole log. */
function rowJobs(run: RunRowJob, log: Logger): RowJobs {
  /** The latest first. */
  let jobs: readonly Job[] = [];
  let ending = new AbortController();

  async function work(job: Job, { signal }: AbortController): Promise<void> {
    const { id, operator, kind, tenant } = job;
    log.info({ job: id, operator, kind, tenant }, 'an operator has begun work on rows');
    try {
      await run({ kind, tenant }, signal, (told) => {
        if ('report' in told) add(job, told.report);
        else job.progress = told;
      });
      job.state = 'done';
    } catch (error) {
      job.state = signal.aborted ? 'cancelled' : 'failed';
      if (!signal.aborted) job.error = error instanceof Error ? error.message : String(error);
    }
    job.endedAt = new Date().toISOString();
    log.info({ job: id, operator, state: job.state, error: job.error }, "an operator's work on rows has ended");
  }

  return {
    start(request, operator) {
      if (jobs[0]?.state === 'running') return undefined;
      const begun = { id: randomUUID(), operator, startedAt: new Date().toISOString() };
      const job: Job = { ...request, ...begun, state: 'running', reports: [], tenantsDone: 0 };
      jobs = [job, ...jobs.slice(0, MAX_SHORT_PAGE)];
      ending = new AbortController();
      void work(job, ending);
      return job;
    },
    all: () => jobs,
    cancel(id) {
      const [latest] = jobs;
      if (latest?.id !== id || latest.state !== 'running') return undefined;
      ending.abort();
      return latest;
    },
  };
}

function add(job: Job, report: JobReport): void {
  const all = [...job.reports, report];
  job.reports = [...all.filter((each) => !isGood(each)).slice(0, MAX_ENTRIES), ...all.filter(isGood).slice(-1)];
  job.tenantsDone += 1;
}

/** Work on rows for the command line: the running service does it, or a thread of the command's own where none runs. */
import { request as httpRequest } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { z } from 'zod';
import { JOB_OUTCOMES, type JobReport, type JobRequest, type RunRowJob } from '../ports/rowJobs.js';
import { Progress } from '../projections/progress.js';
import { useDirectory, usersOf } from '../service/directoryUse.js';
import { openRowReads } from '../service/engines.js';
import { startRowsThread } from '../service/rowsThread.js';
import { CliError } from './errors.js';
import { operatorLink } from './installation.js';
import type { Tools } from './operator.js';

const LOOK_MS = 100;

/** Resolves to the rows of all tenants at work; see `RunRowJob`. */
type RunCounted = (...asked: Parameters<RunRowJob>) => Promise<number>;

/** Runs `work` with what does jobs on rows. @throws CliError where the running service cannot be asked; errors of the work */
export async function withRowJobs<T>(
  tools: Tools,
  signal: AbortSignal,
  work: (run: RunCounted) => Promise<T>,
): Promise<T> {
  const { DATA_DIR } = tools.config;
  const users = await usersOf(DATA_DIR);
  const address = users.find((user) => user.address !== undefined)?.address;
  if (address !== undefined) {
    const session = await signedIn(tools, address);
    return work((...asked) => askService(session, ...asked));
  }
  if (users.length > 0) throw new CliError(`${users.map(({ shown }) => shown).join(' and ')} uses the data directory.`);
  const use = await useDirectory(DATA_DIR, { what: 'dynamic-assets projections', alone: true });
  try {
    return await withOwnThread(tools, signal, work);
  } finally {
    use.release();
  }
}

/** Follows the log here, up to its end as it is now. @throws the reason of the signal */
async function withOwnThread<T>(
  { config, eventStore }: Tools,
  signal: AbortSignal,
  work: (run: RunCounted) => Promise<T>,
): Promise<T> {
  const rows = await openRowReads({ ...config, READER_THREADS: 1 });
  const progress = new Progress(rows, { isTold: true });
  const log = pino({ level: 'silent' });
  const around = { log, tracer: undefined, onNews: progress.tell.bind(progress) };
  const thread = startRowsThread({ ...config, acceptLog: false }, around);
  try {
    const head = await eventStore.head();
    while (progress.position < head || progress.filling().size > 0) {
      const failure = thread.failure();
      if (failure !== undefined) throw failure;
      await delay(LOOK_MS, undefined, { signal });
    }
    return await work(async (request, { onProgress, onReport }, ...more) => {
      let rows = 0;
      const counted = (report: JobReport): void => {
        rows += report.rows;
        onReport(report);
      };
      await thread.run(request, { onProgress, onReport: counted }, ...more);
      return rows;
    });
  } catch (error) {
    // The thread has reasons of its own.
    signal.throwIfAborted();
    throw error;
  } finally {
    await thread.stop();
    await rows.close();
  }
}

type Session = { readonly address: string; readonly host: string; readonly token: string };

async function signedIn(tools: Tools, address: string): Promise<Session> {
  const link = await operatorLink(tools);
  const service = { address, host: `${tools.config.OPERATOR_HOST}:${new URL(address).port}`, token: '' };
  const opened = await ask(service, 'POST', '/sessions', { token: link.token });
  return { ...service, ...z.object({ token: z.string() }).parse(opened) };
}

const report = z.object({
  tenant: z.string(),
  outcome: z.enum(JOB_OUTCOMES),
  position: z.number(),
  rows: z.number(),
  seconds: z.number(),
  differences: z.array(
    z.object({
      space: z.string(),
      kind: z.enum(['space', 'row', 'version']),
      id: z.string(),
      is: z.enum(['missing', 'unexpected', 'different']),
    }),
  ),
  more: z.number(),
  error: z.string().nullable(),
});
const job = z.object({
  id: z.string(),
  state: z.string(),
  ended_at: z.string().nullable(),
  error: z.string().nullable(),
  progress: z.object({ tenant: z.string(), tenants: z.number(), done: z.number(), of: z.number() }).nullable(),
  tenants_done: z.number(),
  rows: z.number(),
  reports: z.array(report),
});

/** As `RunCounted`; of many tenants, only the reports that the service keeps are passed on. */
async function askService(
  session: Session,
  request: JobRequest,
  { onProgress, onReport }: Parameters<RunRowJob>[1],
  signal: AbortSignal,
): Promise<number> {
  const { id } = job.parse(await ask(session, 'POST', '/jobs', request));
  const path = `/jobs/${id}`;
  for (;;) {
    const found = job.parse(await ask(session, 'GET', path));
    const { progress, tenants_done: tenantsDone, reports, error, ended_at: endedAt } = found;
    if (progress !== null) onProgress({ ...progress, tenantsDone });
    if (endedAt !== null) {
      for (const { error: why, ...each } of reports) onReport({ ...each, ...(why === null ? {} : { error: why }) });
      if (error !== null) throw new CliError(error);
      if (found.state === 'cancelled' && !signal.aborted)
        throw new CliError('The job was cancelled, by another operator or by the end of the service.');
      return found.rows;
    }
    if (signal.aborted) {
      await ask(session, 'DELETE', path).catch(() => undefined);
      signal.throwIfAborted();
    }
    await delay(LOOK_MS);
  }
}

/** @throws CliError with the answer's message */
function ask({ address, host, token }: Session, method: string, path: string, body?: unknown): Promise<unknown> {
  const url = new URL(`/api/v1/operator${path}`, address);
  const headers = {
    Host: host,
    ...(token === '' ? {} : { Authorization: `Bearer ${token}` }),
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
  };
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url, { method, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (some: string) => {
        text += some;
      });
      answer.on('end', () => {
        const { data, message } = JSON.parse(text === '' ? '{}' : text);
        if ((answer.statusCode ?? 500) < 300) resolve(data);
        else reject(new CliError(`The service at ${address} answers: ${message}`));
      });
    });
    sent.on('error', (error) => reject(new CliError(`The service at ${address} does not answer.`, { cause: error })));
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

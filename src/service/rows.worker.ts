/** The thread that follows the log and writes rows, and works on them for operators. */
import { workerData } from 'node:worker_threads';
import { rebuild, verify, type WorkOptions } from '../projections/copies.js';
import { Follower } from '../projections/follower.js';
import type { JobReport, JobRequest } from '../projections/jobs.js';
import { slicesOf } from '../projections/rows.js';
import { messageOf } from '../supervision/files.js';
import { sleep } from '../supervision/waiting.js';
import { openRowWriter } from './engines.js';
import { openOwnLog } from './ownLog.js';
import type { RowsMessages, RowsThreadData } from './rowsThread.js';
import { insideThread } from './thread.js';

const config = workerData as RowsThreadData;
const thread = insideThread<RowsMessages>();
let follower: Follower | undefined;

thread.serve(async (request, signal, tell) => {
  const all = request.tenant === undefined ? [...(await writer.tenants()).keys()].sort() : [request.tenant];
  for (const tenant of all) {
    signal.throwIfAborted();
    const onProgress = (done: number, of: number): void => tell({ tenant, tenants: all.length, done, of });
    const report = await workOn(tenant, request, { signal, onProgress });
    if (report !== undefined) tell({ report });
  }
});

/** The tenants of a process that is gone have come to another one by then. */
const FOLLOWED_WITHIN_MS = 10_000;

/** Undefined: there was nothing to do. @throws the reason of the signal */
async function workOn(tenant: string, request: JobRequest, options: WorkOptions): Promise<JobReport | undefined> {
  const { signal } = options;
  const failed = (error: string): JobReport => ({ tenant, outcome: 'failed', differences: [], error });
  const until = Date.now() + FOLLOWED_WITHIN_MS;
  while (!follower?.has(tenant) && !signal.aborted && Date.now() < until) await sleep(100, signal);
  const current = follower;
  if (!current?.has(tenant)) return failed('It was deleted, or another process makes its rows: ask that one.');
  try {
    if (request.kind === 'retry')
      return current.retry(tenant) ? { tenant, outcome: 'retried', differences: [] } : undefined;
    if (request.kind === 'rebuild') {
      await rebuild(current, tenant, options);
      return { tenant, outcome: 'rebuilt', differences: [] };
    }
    const differences = await verify(current, writer, tenant, options);
    return { tenant, outcome: differences.length === 0 ? 'equal' : 'different', differences };
  } catch (error) {
    signal.throwIfAborted();
    // This process has got other tenants, so that another follower has begun.
    if (!current.has(tenant)) return workOn(tenant, request, options);
    return failed(messageOf(error));
  }
}

const { writer, share, close } = await openRowWriter(config, config.owner);
// The main thread has already accepted or refused the log.
const eventStore = await openOwnLog(config);
const options = { deliveryLogDays: config.DELIVERY_LOG_DAYS };
try {
  await share(thread.stopping.signal, async (until, isOwn) => {
    follower = new Follower({
      eventStore,
      writer,
      slicesOf: (tenant, events, store) => slicesOf(tenant, events, store, options),
      onNews: thread.tellNews,
      isOwn,
      acceptLog: config.acceptLog,
    });
    await follower.run(until).finally(() => {
      follower = undefined;
    });
  });
} catch (error) {
  thread.fail(error);
} finally {
  await eventStore.close();
  await close();
  thread.close();
}

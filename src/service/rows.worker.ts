/** The thread that follows the log and writes rows, and works on them for operators. */
import { parentPort, workerData } from 'node:worker_threads';
import type { RecordedEvent } from '../ports/eventStore.js';
import type { JobReport, JobRequest } from '../ports/rowJobs.js';
import { isTraced } from '../ports/tracedEvents.js';
import { rebuild, verify } from '../projections/copies.js';
import { Follower } from '../projections/follower.js';
import type { FollowerNews } from '../projections/progress.js';
import { slicesOf } from '../projections/rows.js';
import { giveWay, sendable } from '../supervision/threads.js';
import { openRowWriter } from './engines.js';
import { openOwnLog } from './ownLog.js';
import type { AskedOfRows, RowsThreadData, ToldOfRows } from './rowsThread.js';

// No write waits for the threads of others.
giveWay();

const config = workerData as RowsThreadData;
const stopping = new AbortController();
const tell = (message: ToldOfRows): void => parentPort?.postMessage(message);
const jobs = new Map<string, AbortController>();
let follower: Follower | undefined;

parentPort?.on('message', (asked: AskedOfRows) => {
  if (asked.kind === 'stop') stopping.abort();
  else if (asked.kind === 'cancel') jobs.get(asked.id)?.abort(new Error('It was cancelled.'));
  else void carryOut(asked.id, asked.request);
});

async function carryOut(id: string, request: JobRequest): Promise<void> {
  const cancelling = new AbortController();
  jobs.set(id, cancelling);
  const signal = AbortSignal.any([cancelling.signal, stopping.signal]);
  try {
    const all = request.tenant === undefined ? [...(await writer.tenants()).keys()].sort() : [request.tenant];
    for (const [tenantsDone, tenant] of all.entries()) {
      signal.throwIfAborted();
      const onProgress = (done: number, of: number): void =>
        tell({ kind: 'progress', id, progress: { tenant, tenantsDone, tenants: all.length, done, of } });
      const report = await workOn(tenant, request, { signal, onProgress });
      if (report !== undefined) tell({ kind: 'report', id, report });
    }
    tell({ kind: 'ended', id });
  } catch (error) {
    tell({ kind: 'ended', id, error: sendable(error) });
  } finally {
    jobs.delete(id);
  }
}

const NOTHING = { position: 0, rows: 0, seconds: 0, differences: [], more: 0 } as const;

/** Undefined: there was nothing to do. @throws the reason of the signal */
async function workOn(
  tenant: string,
  { kind }: JobRequest,
  options: Parameters<typeof rebuild>[2],
): Promise<JobReport | undefined> {
  try {
    if (follower === undefined) throw new Error('The rows are not followed now: try again in a moment.');
    if (kind === 'retry') {
      const { state } = (await writer.progress(tenant)) ?? {};
      if (state !== 'parked') return undefined;
      const parked = await follower.retry(tenant);
      if (parked === undefined) return { ...NOTHING, tenant, outcome: 'goes_on' };
      return { ...NOTHING, tenant, outcome: 'parked', position: parked.position, error: parked.error };
    }
    if (kind === 'rebuild') return { ...NOTHING, outcome: 'rebuilt', ...(await rebuild(follower, tenant, options)) };
    const report = await verify(follower, writer, tenant, options);
    return { ...report, outcome: report.differences.length === 0 ? 'equal' : 'different' };
  } catch (error) {
    options.signal.throwIfAborted();
    return { ...NOTHING, tenant, outcome: 'failed', error: error instanceof Error ? error.message : String(error) };
  }
}

/** Traces with events that are not applied yet, by tenant. */
const traced = new Map<string, { readonly position: number; readonly traceparent: string }[]>();
const isTracing = config.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined;

function noteTraces(tenant: string, events: readonly RecordedEvent[]): void {
  const now = Date.now();
  const found = events.flatMap((event) => {
    const { position, metadata } = event;
    const { traceparent } = metadata;
    return traceparent !== undefined && isTraced(event, now) ? [{ position, traceparent }] : [];
  });
  if (found.length > 0) traced.set(tenant, [...(traced.get(tenant) ?? []), ...found]);
}

function tellTraces({ tenant, position }: Extract<FollowerNews, { kind: 'applied' }>): void {
  const waiting = traced.get(tenant) ?? [];
  const applied = waiting.filter((each) => each.position <= position);
  if (applied.length === 0) return;
  const left = waiting.filter((each) => each.position > position);
  if (left.length === 0) traced.delete(tenant);
  else traced.set(tenant, left);
  tell({ kind: 'traces', traceparents: applied.map(({ traceparent }) => traceparent) });
}

function onNews(news: FollowerNews): void {
  if (isTracing && news.kind === 'applied') tellTraces(news);
  tell({ kind: 'news', news });
}

const { writer, share, close } = await openRowWriter(config, config.owner);
// The main thread has already accepted or refused the log.
const eventStore = await openOwnLog(config, { acceptLog: false });
const options = { deliveryLogDays: config.DELIVERY_LOG_DAYS };
try {
  await share(stopping.signal, async (signal, isOwn) => {
    follower = new Follower({
      eventStore,
      writer,
      slicesOf(tenant, events, store) {
        if (isTracing) noteTraces(tenant, events);
        return slicesOf(tenant, events, store, options);
      },
      onNews,
      isOwn,
      acceptLog: config.acceptLog,
    });
    await follower.run(signal).finally(() => {
      follower = undefined;
    });
  });
} catch (error) {
  tell({ kind: 'failed', error: sendable(error) });
} finally {
  await eventStore.close();
  await close();
  parentPort?.close();
}

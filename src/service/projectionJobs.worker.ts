/** The thread of one job on read models: opens log and read models of its own, as the command line does. */
import { parentPort, workerData } from 'node:worker_threads';
import type { JobReport } from '../ports/projectionJobs.js';
import type { RebuildScope } from '../ports/readModelWriter.js';
import { laneOf } from '../reading/readLanes.js';
import { giveWay, sendable } from '../supervision/threads.js';
import { openOwnLog } from './ownLog.js';
import type { JobMessage, JobThreadData } from './projectionJobs.js';
import { type Follow, type Lanes, rebuildLanes, retryParked, verifyLanes, withLanes } from './projectionWork.js';

/** Between two reports of progress, in milliseconds. */
const REPORT_MS = 200;

giveWay();

const { config, request } = workerData as JobThreadData;
const cancelling = new AbortController();
const { signal } = cancelling;
const send = (message: JobMessage): void => parentPort?.postMessage(message);

parentPort?.once('message', () => cancelling.abort(new Error('It was cancelled.')));

function following(projection: string): Follow {
  let reportedAt = Number.NEGATIVE_INFINITY;
  return (work) =>
    work(({ events: _, ...progress }) => {
      if (performance.now() - reportedAt < REPORT_MS) return;
      reportedAt = performance.now();
      send({ kind: 'progress', progress: { projection, ...progress } });
    });
}

const NOTHING = { position: 0, records: 0, seconds: 0, differences: [], more: 0 } as const;

async function report(lanes: Lanes, scope: RebuildScope): Promise<JobReport> {
  const { projection } = scope;
  if (request.kind === 'rebuild') {
    const { position, records, seconds } = await rebuildLanes(lanes, scope, following(projection), signal);
    return { ...NOTHING, projection, outcome: 'rebuilt', position, records, seconds };
  }
  const { position, records, seconds, differences, more } = await verifyLanes(
    lanes,
    scope,
    following(projection),
    signal,
  );
  const outcome = differences.length === 0 ? 'equal' : 'different';
  return { projection, outcome, position, records, seconds, differences, more };
}

async function retry(lanes: Lanes, tenant: string): Promise<void> {
  for (const each of await retryParked(lanes, tenant, request.projections)) {
    const { projection } = each;
    const outcome = each.outcome === 'goes on' ? 'goes_on' : each.outcome;
    const why = each.outcome === 'parked' ? { position: each.parked.position, error: each.parked.error } : {};
    send({ kind: 'report', report: { ...NOTHING, projection, outcome, ...why } });
  }
}

async function run(all: Lanes): Promise<void> {
  const { tenant, table, projections } = request;
  const lanes = tenant === undefined ? all : [laneOf(all, tenant)];
  if (request.kind === 'retry') return retry(lanes, tenant ?? '');
  for (const projection of projections) {
    const scope = {
      projection,
      ...(tenant === undefined ? {} : { tenant }),
      ...(table === undefined ? {} : { table }),
    };
    send({ kind: 'report', report: await report(lanes, scope) });
  }
}

try {
  const eventStore = await openOwnLog(config, { acceptLog: false });
  await withLanes(config, eventStore, run).finally(() => eventStore.close());
} catch (error) {
  send({ kind: 'failed', error: sendable(error) });
} finally {
  parentPort?.close();
}

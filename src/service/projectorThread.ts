/** Starts the projector's thread and keeps it running, with restarts while an engine is away. */
import { randomUUID } from 'node:crypto';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { threadLimits } from '../adapters/threadLimits.js';
import type { Config } from '../config.js';
import type { EventStore } from '../ports/eventStore.js';
import type { Parked } from '../ports/projectionProgress.js';
import type { Tracer } from '../ports/tracing.js';
import { type Lane, ONLY_LANE } from '../projector/lanes.js';
import type { ProjectedTraces } from '../projector/projectedTraces.js';
import { afterFix } from '../projector/tenantState.js';
import type { RebuildReport } from '../rebuild/rebuild.js';
import { keepRunning } from '../supervision/keepRunning.js';
import { lanesWanted, openProjectors } from './engines.js';
import { serveFeed } from './sharedFeed.js';
import { shareLanes } from './sharedLanes.js';
import { traceProjected } from './tracing.js';

export type ProjectorMessage =
  | { readonly kind: 'running' }
  /** Another process projects; this one takes over when that one stops or dies. Sent repeatedly. */
  | { readonly kind: 'standing-by' }
  /** The read models belong to another log, and are rebuilt. */
  | { readonly kind: 'reset'; readonly reason: string }
  /** The file of read models was damaged and renamed to `aside`; a new one is filled. */
  | { readonly kind: 'set-aside'; readonly file: string; readonly aside: string }
  /** A tenant's part of a projection is parked, or continues. */
  | { readonly kind: 'parked' | 'unparked'; readonly parked: Parked }
  /** A table was rebuilt for this release, or could not be rebuilt yet. */
  | { readonly kind: 'rebuilt'; readonly report: RebuildReport }
  | { readonly kind: 'not-rebuilt'; readonly error: Error }
  /** Sent only if tracing is on; the main thread makes the spans. */
  | { readonly kind: 'traces'; readonly projected: ProjectedTraces }
  | { readonly kind: 'failed'; readonly error: Error };

/** Starting a thread takes 200 ms of processor time. */
const BACKOFF = { firstMs: 100, longestMs: 3_000 };

/** The same failure is logged again after this time. */
const SAME_FAILURE_MS = 60_000;

/** Settings of the projector. */
export type ProjectorConfig = Config & { readonly acceptLog: boolean };

/** Successive threads of one projector share the id. */
export type ProjectorThreadData = ProjectorConfig & {
  readonly projectorId: string;
  readonly lane: Lane;
  /** Port for new events from the main thread; if unset, the thread follows the log itself. */
  readonly feed: MessagePort | undefined;
};

export type Projector = {
  /** The last failure; undefined while the projector runs or stands by. */
  readonly failure: () => Error | undefined;
  readonly stop: () => Promise<void>;
};

type Around = {
  readonly eventStore: EventStore;
  readonly log: Logger;
  readonly tracer: Tracer | undefined;
  /** Called when a damaged file of read models was set aside. */
  readonly onSetAside: () => void;
};

/** Starts the projector of embedded read models, or one for each lane of MongoDB's that falls to this process. */
export async function startProjectors(
  config: ProjectorConfig,
  { eventStore, log, tracer, onSetAside }: Around,
): Promise<Projector> {
  const told = new Set<string>();
  // Lanes read the same log: each reason is logged once.
  const onReset = (reason: string): void => {
    if (!told.has(reason)) log.warn(reason);
    told.add(reason);
  };
  const start = (lane: Lane, onFailure: () => void): Projector => {
    const ofLane = lane.of === 1 ? log : log.child({ lane: lane.index + 1 });
    return startProjector(lane, config, { eventStore, log: ofLane, onReset, onFailure, tracer, onSetAside });
  };
  const shared = await openProjectors(config);
  if (shared !== undefined) return shareLanes(shared, lanesWanted(config), start, log);
  if (config.PROJECTION_LANES !== undefined)
    log.warn('PROJECTION_LANES has no effect without MONGODB_URL: embedded read models have one projector');
  return start(ONLY_LANE, () => undefined);
}

type AroundLane = Around & {
  readonly onReset: (reason: string) => void;
  readonly onFailure: () => void;
};

function startProjector(
  lane: Lane,
  config: ProjectorConfig,
  { eventStore, log, onReset, onFailure, tracer, onSetAside }: AroundLane,
): Projector {
  const stopping = new AbortController();
  const projectorId = randomUUID();
  let standingBy = false;
  let told = { message: '', at: 0 };
  let failure: Error | undefined;

  const receive = (message: ProjectorMessage): void => {
    switch (message.kind) {
      case 'reset':
        onReset(message.reason);
        return;
      case 'set-aside':
        onSetAside();
        log.error(
          { file: message.file, aside: message.aside },
          'a damaged file of read models was set aside: a new one is filled from the event log, and reads are 503 until it is whole',
        );
        return;
      case 'rebuilt':
        log.info(message.report, 'a table was rebuilt for this release');
        return;
      case 'not-rebuilt':
        log.warn({ err: message.error }, 'the tables are not all brought to this release; it is tried again');
        return;
      case 'parked':
      case 'unparked':
        logParked(log, message);
        return;
      case 'traces':
        if (tracer !== undefined) traceProjected(tracer, message.projected);
        return;
    }
    const stoodBy = standingBy;
    standingBy = message.kind === 'standing-by';
    failure = message.kind === 'failed' ? message.error : undefined;
    if (failure !== undefined) {
      onFailure();
      // A lasting failure, such as a damaged event log, is met at each retry.
      if (failure.message !== told.message || performance.now() - told.at > SAME_FAILURE_MS) {
        told = { message: failure.message, at: performance.now() };
        log.error({ err: failure }, 'the projector stopped; the read models stand still until it runs again');
      }
    } else if (stoodBy !== standingBy) {
      log.info(stoodBy ? 'this process projects now' : 'another process projects; this one stands by');
    }
  };
  /** Resolves when the thread has ended for any reason. */
  const runThread = async (): Promise<void> => {
    const resourceLimits = threadLimits(16);
    // Each thread hears of the embedded log's commits directly, without a server.
    const channel = config.EVENTSTORE_URL === undefined ? undefined : new MessageChannel();
    if (channel !== undefined) serveFeed(eventStore, lane, channel.port1);
    const feed = channel?.port2;
    const worker = new Worker(new URL('./projector.worker.js', import.meta.url), {
      workerData: { ...config, projectorId, lane, feed } satisfies ProjectorThreadData,
      transferList: feed === undefined ? [] : [feed],
      resourceLimits,
    });
    worker.on('message', receive);
    worker.on('error', (error) => receive({ kind: 'failed', error }));
    const stop = (): void => worker.postMessage('stop');
    stopping.signal.addEventListener('abort', stop);
    await new Promise((resolve) => worker.once('exit', resolve));
    stopping.signal.removeEventListener('abort', stop);
  };
  const ended = keepRunning(runThread, {
    signal: stopping.signal,
    backoff: BACKOFF,
    onFailure: ({ delayMs }) => log.info({ delayMs }, 'the projector is started again'),
  });
  return {
    failure: () => failure,
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}

function logParked(log: Logger, { kind, parked }: ProjectorMessage & { readonly kind: 'parked' | 'unparked' }): void {
  const { error, retryAsked: _, ...about } = parked;
  if (kind === 'unparked') log.info(about, 'the read model of this tenant goes on with the others');
  else {
    log.error(
      { ...about, error, help: afterFix(parked) },
      'an event cannot be applied: the read model of this tenant is parked',
    );
  }
}

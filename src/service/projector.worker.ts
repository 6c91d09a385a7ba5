/** The projector's thread: reads the log and writes the read models. */
import { parentPort, workerData } from 'node:worker_threads';
import PQueue from 'p-queue';
import { fileNumber, isMarkedDamaged } from '../adapters/damagedFiles.js';
import { namingDamage } from '../adapters/readmodels/sqlite/connections.js';
import { ProjectorLeaseHeldError } from '../ports/readModelWriter.js';
import { logOf } from '../projector/lanes.js';
import { projections } from '../projector/projections.js';
import { runProjections } from '../projector/runner.js';
import { keepRetention, keepUp } from '../projector/upkeep.js';
import { followRelease } from '../rebuild/release.js';
import { giveWay, sendable } from '../supervision/threads.js';
import { sleep } from '../supervision/waiting.js';
import { openReadModelWriter, readModelFile } from './engines.js';
import { openOwnLog } from './ownLog.js';
import type { ProjectorMessage, ProjectorThreadData } from './projectorThread.js';
import { followFeed } from './sharedFeed.js';

/** How often, in milliseconds, a standby asks whether another process still projects. */
const STAND_BY_MS = 500;
/** How often, in milliseconds, the read models' file is checked for damage marks. */
const FILE_LOOK_MS = 250;

// No write waits for projecting.
giveWay();

const config = workerData as ProjectorThreadData;
const stopping = new AbortController();
const send = (message: ProjectorMessage): void => parentPort?.postMessage(message);

parentPort?.once('message', () => stopping.abort());

/** Projects until stopped; stands by while another process projects. @throws any other failure */
async function run(): Promise<void> {
  while (!stopping.signal.aborted) {
    try {
      // Takes the projector lease, or throws ProjectorLeaseHeldError.
      await writer.begin();
      await writer.rollback();
      send({ kind: 'running' });
      await project();
    } catch (error) {
      if (!(error instanceof ProjectorLeaseHeldError)) throw error;
      send({ kind: 'standing-by' });
      await sleep(STAND_BY_MS, stopping.signal);
    }
  }
}

/** Runs until stopped. @throws the first failure, after all parts have stopped */
async function project(): Promise<void> {
  const ending = new AbortController();
  const signal = AbortSignal.any([stopping.signal, ending.signal]);
  const writing = new PQueue({ concurrency: 1 });
  const running = [
    runProjections(
      {
        eventStore,
        writer,
        projections,
        writing,
        acceptLog: config.acceptLog,
        onReset: (reason) => send({ kind: 'reset', reason }),
        onParked: (parked) => send({ kind: 'parked', parked }),
        onUnparked: (parked) => send({ kind: 'unparked', parked }),
        ...(config.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined && {
          onTraces: (projected) => send({ kind: 'traces', projected }),
        }),
      },
      signal,
    ),
    keepUp({ writer, writing }, signal),
    keepRetention({ writer, writing, days: config.DELIVERY_LOG_DAYS }, signal),
    ...(config.MONGODB_URL === undefined ? [endWithFile(readModelFile(config), signal)] : []),
    followRelease(
      {
        eventStore,
        writer,
        writing,
        onRebuilt: (report) => send({ kind: 'rebuilt', report }),
        onFailure: (error) => send({ kind: 'not-rebuilt', error: sendable(error) }),
      },
      signal,
    ),
  ];
  try {
    await Promise.all(running);
  } finally {
    ending.abort();
    await Promise.allSettled(running);
  }
}

/** Runs until stopped. @throws Error when the file is marked damaged, or replaced by another one */
async function endWithFile(file: string, signal: AbortSignal): Promise<void> {
  const number = fileNumber(file);
  while (!signal.aborted) {
    if (isMarkedDamaged(file)) throw new Error(`The read models in ${file} are damaged: the file is set aside.`);
    if (fileNumber(file) !== number) throw new Error(`Another file has taken the place of ${file}.`);
    await sleep(FILE_LOOK_MS, signal);
  }
}

const writer = await openReadModelWriter(config, {
  lane: config.lane,
  owner: config.projectorId,
  onSetAside: (aside) => send({ kind: 'set-aside', file: readModelFile(config), aside }),
});
// The main thread has already accepted or refused the log.
const ownLog = await openOwnLog(config, { acceptLog: false });
const eventStore = logOf(config.lane, config.feed === undefined ? ownLog : followFeed(ownLog, config.feed));
try {
  await run();
} catch (error) {
  const failure = config.MONGODB_URL === undefined ? namingDamage(readModelFile(config), error) : error;
  send({ kind: 'failed', error: sendable(failure) });
} finally {
  await eventStore.close();
  await writer.close();
  parentPort?.close();
}

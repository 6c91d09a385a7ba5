/** The thread that makes copies of tables as they were. Several at once share it, piece by piece. */
import { copyFile } from 'node:fs/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { writeComparison } from '../adapters/readmodels/sqlite/past/comparison.js';
import { bytesOfCopy, PastCopy } from '../adapters/readmodels/sqlite/past/copy.js';
import type { EventStore } from '../ports/eventStore.js';
import { fillPastTable } from '../rebuild/pastTable.js';
import { giveWay, sendable } from '../supervision/threads.js';
import { type EngineConfig, openEventStore } from './engines.js';
import type { MadeMessage, MakeMessage, PastJob } from './pastTableThread.js';

/** Between two reports, in milliseconds. */
const REPORT_MS = 100;

// No request waits for copies.
giveWay();

const config = workerData as EngineConfig;
const running = new Map<number, AbortController>();
let opening: Promise<EventStore> | undefined;
const send = (message: MadeMessage): void => parentPort?.postMessage(message);

function openLog(): Promise<EventStore> {
  opening ??= openEventStore(config).catch((error: unknown) => {
    opening = undefined;
    throw error;
  });
  return opening;
}

type Making = { readonly signal: AbortSignal; readonly onProgress: (done: number) => void };

async function makeTable({ table, file, base }: PastJob & { readonly kind: 'table' }, making: Making): Promise<void> {
  const log = await openLog();
  // The copy may be asked for because of an erasure.
  await log.readErasures?.();
  if (base !== undefined) await copyFile(base.file, file);
  const copy = new PastCopy(file);
  try {
    await fillPastTable(log, copy, table, { after: base?.position ?? 0, ...making });
    await copy.mergeIndexes(making.signal);
  } finally {
    copy.close();
  }
}

async function make(id: number, job: PastJob): Promise<void> {
  const ending = new AbortController();
  running.set(id, ending);
  const { signal } = ending;
  let reportedAt = 0;
  const onProgress = (done: number): void => {
    if (performance.now() - reportedAt < REPORT_MS) return;
    reportedAt = performance.now();
    send({ kind: 'progress', id, done, bytes: bytesOfCopy(job.file) });
  };
  try {
    if (job.kind === 'table') await makeTable(job, { signal, onProgress });
    else await writeComparison(job.file, job, { signal, onProgress });
    send({ kind: 'made', id, bytes: bytesOfCopy(job.file) });
  } catch (error) {
    send({ kind: 'failed', id, error: sendable(error) });
  } finally {
    running.delete(id);
  }
}

async function end(): Promise<void> {
  for (const ending of running.values()) ending.abort();
  await (await opening?.catch(() => undefined))?.close();
  parentPort?.close();
}

parentPort?.on('message', (message: MakeMessage) => {
  if (message.kind === 'make') void make(message.id, message.job);
  else if (message.kind === 'cancel') running.get(message.id)?.abort(new Error('It is no longer wanted.'));
  else void end();
});

/** The projector's thread: reads the log and writes the read models, off the thread that answers requests. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Config } from './config.js';
import { openEventStore, openReadModelWriter } from './engines.js';
import { projections } from './projections/projections.js';
import { runProjections } from './projections/runner.js';
import type { ProjectorMessage } from './projectorThread.js';

const config = workerData as Config;
const stopping = new AbortController();
const tell = (message: ProjectorMessage): void => parentPort?.postMessage(message);

parentPort?.once('message', () => stopping.abort());

const writer = await openReadModelWriter(config);
const eventStore = await openEventStore(config);
try {
  tell({ kind: 'running' });
  await runProjections({ eventStore, writer, projections }, stopping.signal);
} catch (error) {
  tell({ kind: 'failed', error: error instanceof Error ? error : new Error(String(error)) });
} finally {
  await eventStore.close();
  await writer.close();
  parentPort?.close();
}

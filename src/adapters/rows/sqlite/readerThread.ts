/** A worker thread that answers questions one after another, over connections of its own that only read. */
import { parentPort, workerData } from 'node:worker_threads';
import { RowFiles } from './files.js';
import { type Question, replyTo } from './questions.js';

export type ReaderThreadData = {
  readonly directory: string;
  /** One cell: 1 as soon as the question in work is cancelled, else 0. Set by the asking thread. */
  readonly unwanted: Int32Array<SharedArrayBuffer>;
};

const { directory, unwanted }: ReaderThreadData = workerData;
const files = new RowFiles(directory, { isReader: true, isWanted: () => Atomics.load(unwanted, 0) === 0 });

parentPort?.on('message', async (question: Question) => parentPort?.postMessage(await replyTo(question, files)));

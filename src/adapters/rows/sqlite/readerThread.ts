/** A worker thread that answers questions one after another, over connections of its own that only read. */
import { parentPort, workerData } from 'node:worker_threads';
import { RowFiles } from './files.js';
import { type Question, replyTo } from './reads.js';

/** `workerData`: the directory. */
const files = new RowFiles(String(workerData), { isReader: true });

parentPort?.on('message', async (question: Question) => parentPort?.postMessage(await replyTo(question, files)));

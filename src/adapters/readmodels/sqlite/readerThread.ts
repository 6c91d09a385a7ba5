/** A worker thread with a connection of its own that answers questions one after another. */
import { parentPort, workerData } from 'node:worker_threads';
import { ReadConnection } from './readConnection.js';
import { type Question, Reader } from './reader.js';

export type ReaderThreadData = { readonly file: string; readonly cacheMegabytes: number };
export type Request = { readonly question: Question } | 'close';
export type Reply = { readonly answer: unknown } | { readonly error: Error };

const data: ReaderThreadData = workerData;
const connection = new ReadConnection(data);
const reader = new Reader(connection);

function reply(question: Question): Reply {
  try {
    return { answer: reader.answer(question) };
  } catch (error) {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }
}

parentPort?.on('message', (request: Request) => {
  if (request === 'close') {
    connection.close();
    parentPort?.close();
  } else {
    parentPort?.postMessage(reply(request.question));
  }
});

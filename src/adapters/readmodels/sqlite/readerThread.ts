/** A worker thread with a connection of its own that answers questions one after another. */
import { parentPort, workerData } from 'node:worker_threads';
import { ReadConnection } from './readConnection.js';
import { type Question, Reader } from './reader.js';

export type ReaderThreadData = { readonly file: string; readonly cacheMegabytes: number };
export type Request = { readonly number: number; readonly question: Question };
export type Reply =
  | { readonly number: number; readonly answer: unknown }
  | { readonly number: number; readonly error: Error };

const data: ReaderThreadData = workerData;
const connection = new ReadConnection(data);
const reader = new Reader(connection);

parentPort?.on('message', ({ number, question }: Request) => {
  let reply: Reply;
  try {
    reply = { number, answer: reader.answer(question) };
  } catch (error) {
    reply = { number, error: error instanceof Error ? error : new Error(String(error)) };
  }
  parentPort?.postMessage(reply);
});

/** A worker thread with a connection of its own that answers questions one after another. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { answerPartner, partnerAt } from './partner.js';
import { ReadConnection } from './readConnection.js';
import { type Question, Reader } from './reader.js';

export type ReaderThreadData = { readonly file: string; readonly cacheMegabytes: number };
export type Request = { readonly question: Question } | { readonly partner: MessagePort } | 'close';
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

function workWith(partner: MessagePort): void {
  answerPartner(partner, connection);
  partner.unref();
  reader.partner = partnerAt(partner);
}

parentPort?.on('message', (request: Request) => {
  if (request === 'close') {
    connection.close();
    parentPort?.close();
  } else if ('partner' in request) {
    workWith(request.partner);
  } else {
    parentPort?.postMessage(reply(request.question));
  }
});

/**
 * A worker thread with a connection of its own that answers questions one after another. Answers are texts, cheap to hand
 * over.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { ReadModels } from '../../../ports/readSide.js';
import { listDeliveries, readBacklog } from './deliveries.js';
import { Lister } from './query/lister.js';
import { ReadConnection } from './readConnection.js';
import { countOutsideBatch, findRecords, readSnapshot } from './recordReads.js';
import type { ConnectionOptions } from './schema.js';

/** The functions of the port that are asked of a thread. */
type Asked = Pick<ReadModels, 'list' | 'snapshot' | 'find' | 'countOutsideBatch' | 'deliveries' | 'deliveryBacklog'>;

export type Question = {
  [Kind in keyof Asked]: { readonly kind: Kind; readonly asked: Parameters<Asked[Kind]> };
}[keyof Asked];

type Answers = {
  /** `records`: one a line; JSON text has no line breaks of its own. */
  list: { readonly records: string; readonly total: number };
  snapshot: ReturnType<typeof readSnapshot>;
  find: ReturnType<typeof findRecords>;
  countOutsideBatch: ReturnType<typeof countOutsideBatch>;
  /** JSON text. */
  deliveries: string;
  deliveryBacklog: ReturnType<typeof readBacklog>;
};
export type Answer<Kind extends Question['kind']> = Answers[Kind];

export type ReaderThreadData = Omit<ConnectionOptions, 'readOnly'>;
export type Request = { readonly kind: 'ask'; readonly question: Question } | { readonly kind: 'close' };
export type Reply =
  | { readonly kind: 'answer'; readonly answer: unknown }
  | { readonly kind: 'error'; readonly error: Error };

const data: ReaderThreadData = workerData;
const connection = new ReadConnection(data);
const lister = new Lister(connection);

function answer(question: Question): Answers[Question['kind']] {
  switch (question.kind) {
    case 'list': {
      const { records, total } = lister.list(...question.asked);
      return { records: records.join('\n'), total };
    }
    case 'snapshot':
      return readSnapshot(connection, ...question.asked);
    case 'find':
      return findRecords(connection, ...question.asked);
    case 'countOutsideBatch':
      return countOutsideBatch(connection, ...question.asked);
    case 'deliveries':
      return `[${listDeliveries(connection, ...question.asked).join()}]`;
    case 'deliveryBacklog':
      return readBacklog(connection);
  }
}

function reply(question: Question): Reply {
  try {
    return { kind: 'answer', answer: answer(question) };
  } catch (error) {
    return { kind: 'error', error: error instanceof Error ? error : new Error(String(error)) };
  }
}

parentPort?.on('message', (request: Request) => {
  if (request.kind === 'close') {
    connection.close();
    parentPort?.close();
  } else {
    parentPort?.postMessage(reply(request.question));
  }
});

/**
 * A worker thread with a connection of its own that answers questions one after another. Answers are texts, cheap to hand
 * over.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { DeliveryBacklog, DeliveryQuery } from '../../../ports/deliveryLog.js';
import type { RecordQuery, TableRef } from '../../../ports/readModels.js';
import { listDeliveries, readBacklog } from './deliveries.js';
import { Lister } from './query/lister.js';
import { ReadConnection } from './readConnection.js';
import { countOutsideBatch, findRecords, readSnapshot } from './recordReads.js';

export type Question =
  | { readonly kind: 'list'; readonly table: TableRef; readonly query: RecordQuery }
  | {
      readonly kind: 'snapshot';
      readonly table: TableRef;
      readonly wanted: { readonly keys: readonly string[]; readonly ids: readonly string[] };
    }
  | { readonly kind: 'find'; readonly table: TableRef; readonly field: string; readonly values: readonly string[] }
  | { readonly kind: 'countOutsideBatch'; readonly table: TableRef; readonly batchId: string }
  | { readonly kind: 'deliveries'; readonly tenant: string; readonly query: DeliveryQuery }
  | { readonly kind: 'deliveryBacklog' };

type Answers = {
  /** `records`: one a line; JSON text has no line breaks of its own. */
  list: { readonly records: string; readonly total: number };
  snapshot: ReturnType<typeof readSnapshot>;
  find: ReturnType<typeof findRecords>;
  countOutsideBatch: ReturnType<typeof countOutsideBatch>;
  /** JSON text. */
  deliveries: string;
  deliveryBacklog: readonly DeliveryBacklog[];
};
export type Answer<Kind extends Question['kind']> = Answers[Kind];

export type ReaderThreadData = { readonly file: string; readonly cacheMegabytes: number };
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
      const { records, total } = lister.list(question.table, question.query);
      return { records: records.join('\n'), total };
    }
    case 'snapshot':
      return readSnapshot(connection, question.table, question.wanted);
    case 'find':
      return findRecords(connection, question.table, question.field, question.values);
    case 'countOutsideBatch':
      return countOutsideBatch(connection, question.table, question.batchId);
    case 'deliveries':
      return `[${listDeliveries(connection, question.tenant, question.query).join()}]`;
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

/**
 * A worker thread with its own connection, which answers questions one after another. Answers are texts or bytes, which are
 * cheap to hand over.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { ActivityQuery } from '../../../../ports/activity.js';
import type { DeliveryQuery, OrderDeliveryQuery } from '../../../../ports/deliveryLog.js';
import type { Revision } from '../../../../ports/eventStore.js';
import {
  AnswerTooLargeError,
  type FilterValue,
  type ListBehind,
  ReadModelsWithheldError,
  type RecordPage,
  type RecordQuery,
  type RecordsBehind,
  type TableRef,
} from '../../../../ports/readModels.js';
import type { ReadModels } from '../../../../ports/readSide.js';
import { sendable } from '../../../../supervision/threads.js';
import { fileNumber } from '../../../damagedFiles.js';
import type { FoundActivity } from '../../shared/activity.js';
import { pageText } from '../../shared/answerSize.js';
import { listActivity } from '../activity.js';
import type { ConnectionOptions } from '../connections.js';
import { namingDamage, ReadModelsDamagedError } from '../connections.js';
import { listDeliveries, listDeliveriesOfOrder, readBacklog } from '../deliveries.js';
import { readApprovals, readHistory } from '../history.js';
import type { Costs } from '../query/costs.js';
import { Lister, type SlowList } from '../query/lister.js';
import type { MadeRanking } from '../ranking/ranking.js';
import { type RankingName, Rankings } from '../ranking/ranking.js';
import { ReadConnection } from '../read/readConnection.js';
import {
  countOutsideBatch,
  deletedRecords,
  findRecords,
  type RecordLines,
  readByIds,
  readCleanedUpIds,
  readCounts,
  readFigures,
  readSnapshot,
  someOutsideBatch,
} from '../read/recordReads.js';

/** Questions: functions of the port, and their arguments. */
type Asked = {
  list: [table: TableRef, query: RecordQuery];
  listBehind: [table: TableRef, query: ListBehind];
  history: [tenant: string, orderId: string, page: Parameters<ReadModels['history']>[2]];
  approvals: [tenant: string, orderIds: readonly string[]];
  deliveries: [tenant: string, query: DeliveryQuery];
  deliveriesOfOrder: [tenant: string, query: OrderDeliveryQuery];
  activity: [tenant: string, query: ActivityQuery];
  byIds: [table: TableRef, ids: readonly string[]];
  counts: [table: TableRef, field: string, values: readonly FilterValue[]];
  cleanedUpIds: [table: TableRef, cleanUp: Revision, page: Parameters<ReadModels['cleanedUpIds']>[2]];
} & {
  [Kind in
    | 'snapshot'
    | 'find'
    | 'countOutsideBatch'
    | 'someOutsideBatch'
    | 'deletedRecords'
    | 'tableFigures'
    | 'deliveryBacklog']: Parameters<ReadModels[Kind]>;
};

export type Question = {
  [Kind in keyof Asked]: { readonly kind: Kind; readonly asked: Asked[Kind] };
}[keyof Asked];

type Answers = {
  list: RecordPage;
  listBehind: RecordsBehind;
  history: ReturnType<typeof readHistory>;
  approvals: ReturnType<typeof readApprovals>;
  snapshot: ReturnType<typeof readSnapshot>;
  find: ReturnType<typeof findRecords>;
  countOutsideBatch: ReturnType<typeof countOutsideBatch>;
  someOutsideBatch: ReturnType<typeof someOutsideBatch>;
  deletedRecords: ReturnType<typeof deletedRecords>;
  byIds: RecordLines;
  counts: ReturnType<typeof readCounts>;
  cleanedUpIds: readonly string[];
  /** JSON text. */
  deliveries: string;
  deliveriesOfOrder: string;
  activity: FoundActivity;
  tableFigures: ReturnType<typeof readFigures>;
  deliveryBacklog: ReturnType<typeof readBacklog>;
};
export type Answer<Kind extends Question['kind']> = Answers[Kind];

export type ReaderThreadData = Omit<ConnectionOptions, 'readOnly'> & {
  readonly costs: Costs;
  /** One cell: 1 as soon as the question in work is cancelled, else 0. Set by the asking thread. */
  readonly unwanted: Int32Array<SharedArrayBuffer>;
};
export type Request =
  | { readonly kind: 'ask'; readonly question: Question }
  /** Pages are found by it from now on, or no longer. */
  | { readonly kind: 'ranking'; readonly made: MadeRanking }
  | { readonly kind: 'no ranking'; readonly name: RankingName }
  | { readonly kind: 'close' };
export type Reply =
  /** Sent before the answer that was slow without it. */
  | { readonly kind: 'ranking wanted'; readonly name: RankingName }
  /** Sent before its answer. */
  | { readonly kind: 'slow list'; readonly list: SlowList }
  | { readonly kind: 'answer'; readonly answer: Answers[Question['kind']] }
  /** Kinds of their own, as an error that is sent to another thread loses its class. */
  | { readonly kind: 'too large' | 'withheld' | 'damaged'; readonly message: string }
  | { readonly kind: 'error'; readonly error: Error };

const { unwanted, costs, ...options }: ReaderThreadData = workerData;
const connection = new ReadConnection({ ...options, isWanted: () => Atomics.load(unwanted, 0) === 0 });
const number = fileNumber(options.file);
const rankings = new Rankings((name) => send({ kind: 'ranking wanted', name }));
const lister = new Lister(connection, costs, rankings, (list) => send({ kind: 'slow list', list }));

/** @returns the answer, and those of its buffers that are transferred instead of being copied */
function answer(question: Question): [answer: Answers[Question['kind']], handedOver?: readonly ArrayBuffer[]] {
  switch (question.kind) {
    case 'list': {
      const page = lister.list(...question.asked);
      const records = pageText(page.records);
      return [{ ...page, records }, buffersOf(records)];
    }
    case 'listBehind': {
      const { records: texts, next } = lister.listBehind(...question.asked);
      const records = pageText(texts);
      return [{ records, next }, buffersOf(records)];
    }
    case 'history':
      return [readHistory(connection, ...question.asked)];
    case 'approvals':
      return [readApprovals(connection, ...question.asked)];
    case 'snapshot':
      return [readSnapshot(connection, ...question.asked)];
    case 'find':
      return [findRecords(connection, ...question.asked)];
    case 'countOutsideBatch':
      return [countOutsideBatch(connection, ...question.asked)];
    case 'someOutsideBatch':
      return [someOutsideBatch(connection, ...question.asked)];
    case 'deletedRecords':
      return [deletedRecords(connection, ...question.asked)];
    case 'byIds':
      return [readByIds(connection, ...question.asked)];
    case 'counts':
      return [readCounts(connection, ...question.asked)];
    case 'cleanedUpIds':
      return [readCleanedUpIds(connection, ...question.asked)];
    case 'deliveries':
      return [`[${listDeliveries(connection, ...question.asked).join()}]`];
    case 'deliveriesOfOrder':
      return [`[${listDeliveriesOfOrder(connection, ...question.asked).join()}]`];
    case 'activity':
      return [listActivity(connection, ...question.asked)];
    case 'tableFigures':
      return [readFigures(connection, ...question.asked)];
    case 'deliveryBacklog':
      return [readBacklog(connection)];
  }
}

const buffersOf = (records: ReturnType<typeof pageText>): readonly ArrayBuffer[] =>
  typeof records === 'string' ? [] : [records.buffer];

const send = (reply: Reply, handedOver: readonly ArrayBuffer[] = []): void =>
  parentPort?.postMessage(reply, [...handedOver]);

function reply(question: Question): void {
  try {
    const [found, handedOver] = answer(question);
    send({ kind: 'answer', answer: found }, handedOver);
  } catch (thrown) {
    const error = namingDamage(options.file, thrown, number);
    if (error instanceof ReadModelsDamagedError) send({ kind: 'damaged', message: error.message });
    else if (error instanceof AnswerTooLargeError) send({ kind: 'too large', message: error.message });
    else if (error instanceof ReadModelsWithheldError) send({ kind: 'withheld', message: error.message });
    else send({ kind: 'error', error: sendable(error) });
  }
}

parentPort?.on('message', (request: Request) => {
  switch (request.kind) {
    case 'ask':
      return reply(request.question);
    case 'ranking':
      return rankings.keep(request.made);
    case 'no ranking':
      return rankings.forget(request.name);
    case 'close':
      connection.close();
      parentPort?.close();
  }
});

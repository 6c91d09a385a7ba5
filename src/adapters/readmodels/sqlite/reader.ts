/** What a reader thread is asked and answers, and the answering. Answers are texts, cheap to hand over. */
import type { DeliveryBacklog, DeliveryQuery } from '../../../ports/deliveryLog.js';
import type { RecordQuery, TableRef } from '../../../ports/readModels.js';
import { listDeliveries, readBacklog } from './deliveries.js';
import { countOutsideBatch, findRecords, readSnapshot } from './points.js';
import { Lister } from './query/lister.js';
import type { ReadConnection } from './readConnection.js';

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

export class Reader {
  readonly #connection: ReadConnection;
  readonly #lister: Lister;

  constructor(connection: ReadConnection) {
    this.#connection = connection;
    this.#lister = new Lister(connection);
  }

  answer(question: Question): Answers[Question['kind']] {
    switch (question.kind) {
      case 'list': {
        const { records, total } = this.#lister.list(question.table, question.query);
        return { records: records.join('\n'), total };
      }
      case 'snapshot':
        return readSnapshot(this.#connection, question.table, question.wanted);
      case 'find':
        return findRecords(this.#connection, question.table, question.field, question.values);
      case 'countOutsideBatch':
        return countOutsideBatch(this.#connection, question.table, question.batchId);
      case 'deliveries':
        return `[${listDeliveries(this.#connection, question.tenant, question.query).join()}]`;
      case 'deliveryBacklog':
        return readBacklog(this.#connection);
    }
  }
}

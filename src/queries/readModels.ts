/** Everything that is asked of rows, as one object. */
import type { EventStore } from '../ports/eventStore.js';
import type { ReadModels } from '../ports/readSide.js';
import type { RowReads } from '../ports/rowStore.js';
import { ActivityQueries } from './activity.js';
import { DeletionQueries } from './deletions.js';
import { DeliveryQueries } from './deliveries.js';
import { HistoryQueries } from './orderHistory.js';
import { RecordQueries, type Tenants } from './records.js';

export type QuerySource = {
  readonly rows: RowReads;
  /** An order's own history is its stream. */
  readonly eventStore: Pick<EventStore, 'readSlice' | 'erasures'>;
  readonly tenants: Tenants;
};

/** @returns what answers all of them; closing it closes the rows */
export function openQueries({ rows, eventStore, tenants }: QuerySource): ReadModels {
  const records = new RecordQueries(rows, tenants);
  const deletions = new DeletionQueries(rows, eventStore, tenants);
  const histories = new HistoryQueries(eventStore, rows, tenants);
  const activities = new ActivityQueries(rows, tenants, eventStore.erasures);
  const log = new DeliveryQueries(rows, tenants);
  return {
    get: (...asked) => records.get(...asked),
    list: (...asked) => records.list(...asked),
    listBehind: (...asked) => records.listBehind(...asked),
    byIds: (...asked) => records.byIds(...asked),
    tableState: (table) => records.tableState(table),
    counts: (...asked) => records.counts(...asked),
    tableFigures: (tables) => records.tableFigures(tables),
    orderOfPart: (...asked) => records.orderOfPart(...asked),
    snapshot: (...asked) => records.snapshot(...asked),
    countOutsideBatch: (...asked) => records.countOutsideBatch(...asked),
    someOutsideBatch: (...asked) => records.someOutsideBatch(...asked),
    find: (...asked) => records.find(...asked),
    recordEvents: (...asked) => deletions.recordEvents(...asked),
    cleanedUpRecord: (...asked) => deletions.cleanedUpRecord(...asked),
    cleanedUpIds: (...asked) => deletions.cleanedUpIds(...asked),
    deletedRecords: (...asked) => deletions.deletedRecords(...asked),
    history: (...asked) => histories.history(...asked),
    approvals: (...asked) => histories.approvals(...asked),
    activity: (...asked) => activities.activity(...asked),
    delivery: (...asked) => log.delivery(...asked),
    deliveries: (...asked) => log.deliveries(...asked),
    deliveriesOfOrder: (...asked) => log.deliveriesOfOrder(...asked),
    deliveryBacklog: () => log.deliveryBacklog(),
    webhookHealth: (...asked) => log.webhookHealth(...asked),
    close: () => rows.close(),
  };
}

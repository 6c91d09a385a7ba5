/** Everything that is asked of rows, by what it is about. The past is asked for by functions of its own (`past.ts`). */
import type { EventStore } from '../ports/eventStore.js';
import type { RowReads } from '../ports/rowStore.js';
import { ActivityQueries } from './activity.js';
import { DeliveryQueries } from './deliveries.js';
import { OrderHistoryQueries } from './orderHistory.js';
import { RecordQueries, type Tenants } from './records.js';

type QuerySource = {
  readonly rows: RowReads;
  /** An order's own history is its stream. */
  readonly eventStore: Pick<EventStore, 'readSlice' | 'erasures'>;
  readonly tenants: Tenants;
};

export type Queries = {
  readonly records: RecordQueries;
  readonly orderHistory: OrderHistoryQueries;
  readonly activity: ActivityQueries;
  readonly deliveries: DeliveryQueries;
};

export const openQueries = ({ rows, eventStore, tenants }: QuerySource): Queries => ({
  records: new RecordQueries(rows, tenants),
  orderHistory: new OrderHistoryQueries(eventStore, rows, tenants),
  activity: new ActivityQueries(rows, tenants, eventStore.erasures),
  deliveries: new DeliveryQueries(rows, tenants),
});

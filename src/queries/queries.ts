/** Everything that is asked of rows, by what it is about. The past is asked for by functions of its own (`past.ts`). */
import type { EventStore } from '../ports/eventStore.js';
import type { RowProgress } from '../ports/progress.js';
import { type RowReads, RowsUnavailableError, type SpaceRef, type SpaceState } from '../ports/rowStore.js';
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

export type Queries = ReturnType<typeof openQueries>;

export const openQueries = ({ rows, eventStore, tenants }: QuerySource) => ({
  records: new RecordQueries(rows, tenants),
  orderHistory: new OrderHistoryQueries(eventStore, rows, tenants),
  activity: new ActivityQueries(rows, tenants, eventStore.erasures),
  deliveries: new DeliveryQueries(rows, tenants),
});

/** How long a read waits for the first rows of a tenant, in milliseconds. */
const FIRST_ROWS_MS = 2_000;

/**
 * Rows that are answered only while they match the log: not while they are made again, parked or too old.
 * @throws RowsUnavailableError from reads of a tenant whose rows are not shown now
 */
export function shownRows(rows: RowReads, progress: Pick<RowProgress, 'refusal' | 'waitFor'>): RowReads {
  const requireShown = (tenant: string): void => {
    const refusal = progress.refusal(tenant);
    if (refusal !== undefined) throw new RowsUnavailableError(refusal);
  };
  const shown = async <Answer>(tenant: string, ask: () => Promise<Answer>): Promise<Answer> => {
    requireShown(tenant);
    const answer = await ask();
    // They may have been set aside meanwhile.
    requireShown(tenant);
    return answer;
  };
  const shownIn = async <Answer extends { readonly state: SpaceState }>(
    { tenant }: SpaceRef,
    ask: () => Promise<Answer>,
  ): Promise<Answer> => {
    let answer = await shown(tenant, ask);
    // A tenant begins with rows: it has just been created, or they are lost, and that is not told of yet.
    if (answer.state.progress === 0 && (await progress.waitFor(tenant, 1, FIRST_ROWS_MS)))
      answer = await shown(tenant, ask);
    if (answer.state.progress === 0) throw new RowsUnavailableError('The rows of this tenant are being made.');
    return answer;
  };
  return {
    rows: (space, ...asked) => shownIn(space, () => rows.rows(space, ...asked)),
    page: (space, ...asked) => shownIn(space, () => rows.page(space, ...asked)),
    versions: (space, ...asked) => shownIn(space, () => rows.versions(space, ...asked)),
    spaces: (tenant) => shown(tenant, () => rows.spaces(tenant)),
    progress: (tenant) => rows.progress(tenant),
    close: () => rows.close(),
  };
}

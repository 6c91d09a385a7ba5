/** What is asked of rows by several parts, and rows that are shown only while they match the log. */
import { type RowReads, RowsUnavailableError, type SpaceRef, type SpaceState } from '../ports/rowStore.js';
import type { Progress } from '../projections/progress.js';
import { DeliveryQueries } from './deliveries.js';
import { RecordQueries, type Tenants } from './records.js';

export type Queries = ReturnType<typeof openQueries>;

export const openQueries = (rows: RowReads, tenants: Tenants) => ({
  records: new RecordQueries(rows, tenants),
  deliveries: new DeliveryQueries(rows),
});

/** How long a read waits for the first rows of a tenant, in milliseconds. */
const FIRST_ROWS_MS = 2_000;

/**
 * Rows that are answered only while they match the log: not while they are made again, parked or too old.
 * @throws RowsUnavailableError from reads of a tenant whose rows are not shown now
 */
export function shownRows(rows: RowReads, progress: Pick<Progress, 'refusal' | 'waitFor'>): RowReads {
  const shown = async <Answer>(tenant: string, ask: () => Promise<Answer>): Promise<Answer> => {
    const requireShown = (): void => {
      const refusal = progress.refusal(tenant);
      if (refusal !== undefined) throw new RowsUnavailableError(refusal);
    };
    requireShown();
    const answer = await ask();
    // They may have been set aside meanwhile.
    requireShown();
    return answer;
  };
  const shownIn =
    <Arguments extends readonly unknown[], Answer extends { readonly state: SpaceState }>(
      read: (space: SpaceRef, ...asked: Arguments) => Promise<Answer>,
    ) =>
    async (space: SpaceRef, ...asked: Arguments): Promise<Answer> => {
      const ask = () => shown(space.tenant, () => read.call(rows, space, ...asked));
      let answer = await ask();
      // A tenant begins with rows: it has just been created, or they are lost, and that is not told of yet.
      if (answer.state.progress === 0 && (await progress.waitFor(space.tenant, 1, FIRST_ROWS_MS))) answer = await ask();
      if (answer.state.progress === 0) throw new RowsUnavailableError('The rows of this tenant are being made.');
      return answer;
    };
  return {
    rows: shownIn(rows.rows),
    page: shownIn(rows.page),
    versions: shownIn(rows.versions),
    spaces: (tenant) => shown(tenant, () => rows.spaces(tenant)),
    progress: (tenant) => rows.progress(tenant),
    close: () => rows.close(),
  };
}

/** A copy of a tenant's rows, made from the log: it takes their place (rebuild), or they are compared with it (verify). */
import {
  copyOf,
  type Page,
  type PageQuery,
  type RowReads,
  type SpaceRef,
  type StoredRow,
  type VersionPage,
  type VersionQuery,
} from '../ports/rowStore.js';
import { nextTurn } from '../supervision/waiting.js';
import type { CopyOptions } from './followedTenant.js';
import type { Follower } from './follower.js';
import type { Difference } from './jobs.js';

const COMPARED_AT_ONCE = 500;
const NEXT_ROWS = {
  conditions: [],
  sort: [{ field: 'n', direction: 'asc' }],
  offset: 0,
  limit: 1_000,
  withTotal: false,
  maxCharacters: 4_000_000,
} as const satisfies PageQuery;
const VERSIONS_AT_ONCE = 200;

export type WorkOptions = Omit<CopyOptions, 'toEnd'>;

/** The tenant is read and written meanwhile. @throws see `Follower.withCopy` */
export const rebuild = (follower: Follower, tenant: string, options: WorkOptions): Promise<void> =>
  follower.withCopy(tenant, { ...options, toEnd: true }, () => follower.swap(tenant));

/**
 * Writes of the tenant are shown after the comparison.
 * @returns the first difference of each space @throws see `Follower.withCopy`
 */
export const verify = (
  follower: Follower,
  rows: ReadRows,
  tenant: string,
  options: WorkOptions,
): Promise<readonly Difference[]> =>
  follower.withCopy(tenant, options, async () => {
    const differences: Difference[] = [];
    const both = [await rows.spaces(tenant), await rows.spaces(copyOf(tenant))];
    for (const space of new Set(both.flatMap((spaces) => [...(spaces?.keys() ?? [])])))
      differences.push(...(await firstDifference(rows, { tenant, space }, options.signal)));
    return differences;
  });

type ReadRows = Pick<RowReads, 'spaces' | 'page' | 'versions'>;
type Line = Difference & { readonly text: string };

/** All that there is of a space, in one order: rows by n, then versions by where they end. */
export async function* linesOf(rows: ReadRows, ref: SpaceRef): AsyncGenerator<Line> {
  const { space } = ref;
  const found = (await rows.spaces(ref.tenant))?.get(space);
  if (found === undefined) return;
  const { assetType, state } = found;
  const { revision, lastEventAt, rows: count } = state;
  yield { space, kind: 'space', id: '', text: JSON.stringify([revision, lastEventAt, count, assetType]) };
  for (let behind: number | undefined = 0; behind !== undefined; ) {
    const page: Page = await rows.page(ref, { ...NEXT_ROWS, behind });
    for (const row of page.rows) yield lineOf(space, 'row', row);
    behind = page.rows.at(-1)?.n;
  }
  const ended = [0, state.progress] as const;
  for (let behind: VersionQuery['behind'] = [0, 0]; behind !== undefined; ) {
    const { versions }: VersionPage = await rows.versions(ref, { ended, behind, limit: VERSIONS_AT_ONCE });
    for (const version of versions) yield lineOf(space, 'version', version);
    const last = versions.at(-1);
    behind = last?.to === undefined ? undefined : [last.to, last.n];
  }
}

const lineOf = (space: string, kind: Line['kind'], row: StoredRow): Line => {
  return { space, kind, id: row.id, text: JSON.stringify(row) };
};

/** As the log has it, if it does. */
async function firstDifference(
  rows: ReadRows,
  { tenant, space }: SpaceRef,
  signal: AbortSignal,
): Promise<readonly Difference[]> {
  const [shown, made] = [linesOf(rows, { tenant, space }), linesOf(rows, { tenant: copyOf(tenant), space })];
  for (let compared = 0; ; compared += 1) {
    // Other tenants have turns meanwhile, and the signal is heard.
    if (compared % COMPARED_AT_ONCE === 0) await nextTurn();
    signal.throwIfAborted();
    const [{ value: one }, { value: other }] = [await shown.next(), await made.next()];
    const line: Line | undefined = other ?? one;
    if (line === undefined) return [];
    if (one?.text !== other?.text) return [{ space, kind: line.kind, id: line.id }];
  }
}

/** A copy of a tenant's rows, made from the log: it takes their place (rebuild), or they are compared with it (verify). */
import type { JobReport, RowDifference } from '../ports/rowJobs.js';
import type { Page, PageQuery, RowCopy, RowReads, StoredRow, VersionPage, VersionQuery } from '../ports/rowStore.js';
import { nextTurn } from '../supervision/waiting.js';
import type { CopyOptions } from './followedTenant.js';
import type { Follower } from './follower.js';

/** The most differences that are named, and the most that are counted. */
const NAMED_DIFFERENCES = 100;
const COUNTED_DIFFERENCES = 10_000;
const COMPARED_AT_ONCE = 500;
/** Read at a time. */
const NEXT_ROWS = {
  conditions: [],
  sort: [{ field: 'n', direction: 'asc' }],
  offset: 0,
  limit: 1_000,
  withTotal: false,
  maxCharacters: 4_000_000,
} as const satisfies PageQuery;
const NEXT_VERSIONS = { direction: 'asc', limit: 200, withTotal: false } as const;

export type WorkOptions = Omit<CopyOptions, 'toEnd'>;

export type RebuildReport = Pick<JobReport, 'tenant' | 'position' | 'rows' | 'seconds'>;

/** `more`: there are at least this many. */
export type VerifyReport = RebuildReport & Pick<JobReport, 'differences' | 'more'>;

/** The tenant is read and written meanwhile. @throws see `Follower.withCopy` */
export function rebuild(follower: Follower, tenant: string, options: WorkOptions): Promise<RebuildReport> {
  const startedAt = performance.now();
  return follower.withCopy(tenant, { ...options, toEnd: true }, async (copy) => {
    const report = await made(tenant, copy, startedAt);
    await follower.swap(tenant, copy);
    return report;
  });
}

/** Writes of the tenant are shown after the comparison. @throws see `Follower.withCopy` */
export function verify(
  follower: Follower,
  rows: ReadRows,
  tenant: string,
  options: WorkOptions,
): Promise<VerifyReport> {
  const startedAt = performance.now();
  return follower.withCopy(tenant, options, async (copy) => {
    const report = await made(tenant, copy, startedAt);
    const found = await differences(linesOf(rows, tenant), linesOf(copy, tenant), options.signal);
    await copy.discard();
    const seconds = secondsSince(startedAt);
    return {
      ...report,
      seconds,
      differences: found.slice(0, NAMED_DIFFERENCES),
      more: Math.max(0, found.length - NAMED_DIFFERENCES),
    };
  });
}

async function made(tenant: string, copy: RowCopy, startedAt: number): Promise<RebuildReport> {
  const { position, rows } = (await copy.progress(tenant)) ?? { position: 0, rows: 0 };
  return { tenant, position, rows, seconds: secondsSince(startedAt) };
}

const secondsSince = (time: number): number => (performance.now() - time) / 1000;

type ReadRows = Pick<RowReads, 'spaces' | 'page' | 'versions'>;
type Line = Omit<RowDifference, 'is'> & { readonly text: string };

/** All that there is of a tenant, in one order: by space, then rows by n, then versions by where they end. */
export async function* linesOf(rows: ReadRows, tenant: string): AsyncGenerator<Line> {
  const spaces = [...((await rows.spaces(tenant)) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [space, { assetType, state }] of spaces) {
    const { revision, lastEventAt, rows: count } = state;
    yield { space, kind: 'space', id: '', text: JSON.stringify([revision, lastEventAt, count, assetType]) };
    for (let behind: number | undefined = 0; behind !== undefined; ) {
      const page: Page = await rows.page({ tenant, space }, { ...NEXT_ROWS, behind });
      for (const row of page.rows) yield lineOf(space, 'row', row);
      behind = page.rows.at(-1)?.n;
    }
    const ended = [0, state.progress] as const;
    for (let behind: VersionQuery['behind'] = [0, 0]; behind !== undefined; ) {
      const page: VersionPage = await rows.versions({ tenant, space }, { ...NEXT_VERSIONS, ended, behind });
      for (const version of page.versions) yield lineOf(space, 'version', version);
      const last = page.versions.at(-1);
      behind = last?.to === undefined ? undefined : [last.to, last.n];
    }
  }
}

const lineOf = (space: string, kind: Line['kind'], { id, ...state }: StoredRow): Line => ({
  space,
  kind,
  id,
  text: JSON.stringify(state),
});

/** Both are in the same order, so equal lines are never far from each other. */
async function differences(
  shown: AsyncIterable<Line>,
  made: AsyncIterable<Line>,
  signal: AbortSignal,
): Promise<readonly RowDifference[]> {
  const [alone, aloneInCopy] = [new Unmatched(), new Unmatched()];
  const [ofShown, ofCopy] = [shown[Symbol.asyncIterator](), made[Symbol.asyncIterator]()];
  try {
    for (let compared = 0; ; compared += 1) {
      // Other tenants have turns meanwhile, and the signal is heard.
      if (compared % COMPARED_AT_ONCE === 0) await nextTurn();
      signal.throwIfAborted();
      const [one, other] = [await ofShown.next(), await ofCopy.next()];
      if (one.done === true && other.done === true) break;
      if (one.done !== true && !aloneInCopy.take(one.value)) alone.add(one.value);
      if (other.done !== true && !alone.take(other.value)) aloneInCopy.add(other.value);
      if (alone.size + aloneInCopy.size > COUNTED_DIFFERENCES) break;
    }
  } finally {
    await Promise.all([ofShown.return?.(), ofCopy.return?.()]);
  }
  const [unexpected, missing] = [alone.places(), aloneInCopy.places()];
  return [
    ...[...missing].map(([key, line]) => difference(line, unexpected.has(key) ? 'different' : 'missing')),
    ...[...unexpected].flatMap(([key, line]) => (missing.has(key) ? [] : [difference(line, 'unexpected')])),
  ];
}

const difference = ({ space, kind, id }: Line, is: RowDifference['is']): RowDifference => ({ space, kind, id, is });

/** Lines that the other side does not have, as far as it was read. */
class Unmatched {
  readonly #lines = new Map<string, Line>();

  get size(): number {
    return this.#lines.size;
  }

  add(line: Line): void {
    this.#lines.set(JSON.stringify(line), line);
  }

  /** @returns whether the line was there */
  take(line: Line): boolean {
    return this.#lines.delete(JSON.stringify(line));
  }

  /** The first line of each row or version. */
  places(): ReadonlyMap<string, Line> {
    const places = new Map<string, Line>();
    for (const line of this.#lines.values()) {
      const { space, kind, id } = line;
      const key = JSON.stringify([space, kind, id]);
      if (!places.has(key)) places.set(key, line);
    }
    return places;
  }
}

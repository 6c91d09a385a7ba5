/**
 * Parked tenants: they are part of the state, and so committed with the checkpoints. Requests for retries are documents of
 * their own, since the process that asks has no lease.
 */
import type { Collection } from 'mongodb';
import type { Position } from '../../../ports/eventStore.js';
import type { Parked } from '../../../ports/projectionProgress.js';
import type { RebuildScope } from '../../../ports/readModelWriter.js';
import { insertOnce, positionOf, type State, type StoredParked } from './catalog.js';
import type { LaneDb } from './connection.js';

type Named = Pick<Parked, 'tenant' | 'projection'>;
/** Neither a tenant nor a projection has a dot. */
const parkedKey = ({ tenant, projection }: Named): string => `${projection}.${tenant}`;

type RetryDocument = { readonly _id: string };
const retriesOf = (db: LaneDb): Collection<RetryDocument> => db.collection<RetryDocument>('retries');

/** The changes of one transaction; undefined for a tenant that is no longer parked. */
export class ParkedChanges {
  readonly #changes = new Map<string, Parked | undefined>();

  put(parked: Parked): void {
    this.#changes.set(parkedKey(parked), parked);
  }

  remove(named: Named): void {
    this.#changes.set(parkedKey(named), undefined);
  }

  /** Whether a failed commit may have written some changes of the changed tenants. */
  isUnfinished({ parked = [] }: State): boolean {
    return parked.some((each) => this.#changes.has(parkedKey(each)) && each.until > each.checkpoint);
  }

  /** Whether a failed commit went further than this one. `reaches`: this one's checkpoints. */
  isBeyond({ parked = [] }: State, reaches: (projection: string) => Position): boolean {
    return parked.some((each) => this.#changes.has(parkedKey(each)) && each.until > this.#next(each, reaches));
  }

  /** The state before the changes are written, with the checkpoints that they lead to. `reaches`: the commit's checkpoints. */
  announced(state: State, reaches: (projection: string) => Position): Pick<State, 'parked'> {
    if (this.#changes.size === 0) return {};
    const parked = (state.parked ?? []).map((each) =>
      this.#changes.has(parkedKey(each)) ? { ...each, until: Math.max(each.until, this.#next(each, reaches)) } : each,
    );
    return { parked };
  }

  /** A tenant that is no longer parked is at the common checkpoint. */
  #next(each: StoredParked, reaches: (projection: string) => Position): Position {
    return this.#changes.get(parkedKey(each))?.checkpoint ?? reaches(each.projection);
  }

  /** The state after the changes were written. `until`: how far a failed commit may have written, by projection. */
  written({ parked = [] }: State, until: (projection: string) => Position): Pick<State, 'parked'> {
    if (this.#changes.size === 0) return {};
    const before = new Map(parked.map((each) => [parkedKey(each), each]));
    const stay = parked.filter((each) => !this.#changes.has(parkedKey(each)));
    const moved = [...this.#changes.values()].flatMap((next) => {
      if (next === undefined) return [];
      const { retryAsked: _, ...rest } = next;
      const reached = Math.max(before.get(parkedKey(next))?.until ?? until(next.projection), next.checkpoint);
      return [{ ...rest, until: reached }];
    });
    return { parked: [...stay, ...moved] };
  }

  /** Removes requests for retries that the commit has fulfilled. */
  async settleRetries(db: LaneDb): Promise<void> {
    const settled = [...this.#changes].flatMap(([key, next]) => (next?.retryAsked === true ? [] : [key]));
    if (settled.length > 0) await retriesOf(db).deleteMany({ _id: { $in: settled } });
  }
}

export async function parkedOf(db: LaneDb, state: Pick<State, 'parked'> | undefined): Promise<readonly Parked[]> {
  const stored = state?.parked ?? [];
  if (stored.length === 0) return [];
  const asked = new Set((await retriesOf(db).find({}).toArray()).map(({ _id }) => _id));
  return stored.map(({ until: _, ...each }) => ({ ...each, retryAsked: asked.has(parkedKey(each)) }));
}

/**
 * The state's `parked` around the swap of a rebuild: before it, as a crash may leave a part of the copy in place; and after
 * it, when the rebuilt tenants go on with the others.
 */
export function parkedAroundSwap(
  { parked = [], checkpoints }: State,
  { projection, tenant }: RebuildScope,
): { readonly before: readonly StoredParked[]; readonly after: readonly StoredParked[] } {
  const position = positionOf(checkpoints, projection);
  const isRebuilt = (each: StoredParked) =>
    each.projection === projection && (tenant === undefined || each.tenant === tenant);
  return {
    before: parked.map((each) => (isRebuilt(each) ? { ...each, until: Math.max(each.until, position) } : each)),
    after: parked.filter((each) => !isRebuilt(each)),
  };
}

export async function askRetry(db: LaneDb, state: State | undefined, named: Named): Promise<boolean> {
  if (state?.parked?.some((each) => parkedKey(each) === parkedKey(named)) !== true) return false;
  await insertOnce(retriesOf(db), { _id: parkedKey(named) });
  return true;
}

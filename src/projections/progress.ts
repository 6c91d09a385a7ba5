/**
 * How far tenants' rows are, in a process that reads them. Beside a follower of the same process it is told; elsewhere it asks
 * for the tenants that somebody waits for. Rows are answered only while they are of this log.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Position } from '../ports/eventStore.js';
import {
  type Parked,
  type ParkedTenant,
  type RowReads,
  RowsUnavailableError,
  type SpaceRef,
  type SpaceState,
} from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { notApplied } from './tenantTexts.js';

/** What the follower tells. */
export type FollowerNews =
  /** The tenant's rows are made up to here. */
  | { readonly kind: 'applied'; readonly tenant: string; readonly position: Position }
  | { readonly kind: 'parked'; readonly tenant: string; readonly parked: Parked }
  /** A follower begins, and has these tenants that are not shown: what was told before may be another process's by now. */
  | { readonly kind: 'begun'; readonly marks: ReadonlyMap<string, 'filling' | Parked> }
  /** Its rows are not shown: they are made from the beginning. `reason`: what has happened to them. */
  | { readonly kind: 'filling'; readonly tenant: string; readonly reason?: string }
  /** It is filled, or no longer parked. */
  | { readonly kind: 'running'; readonly tenant: string }
  | { readonly kind: 'deleted'; readonly tenant: string }
  /** The rows are of another log: all are made again. */
  | { readonly kind: 'reset' }
  /** All events up to here are applied, but those of tenants that are parked or filled. */
  | { readonly kind: 'read'; readonly position: Position }
  /** Tenants that are behind for a second and more, with the time of their oldest event that is not applied (ISO 8601). */
  | { readonly kind: 'behind'; readonly since: ReadonlyMap<string, string> };

/** How often the rows are asked how far they are, in milliseconds: while somebody waits, and while somebody has in vain. */
const ASK_EVERY_MS = 10;
const LOOK_EVERY_MS = 500;

type Lack = Pick<Parked, 'position' | 'since'>;
type Waiter = { readonly position: Position; readonly end: (isReached: boolean) => void };

/** Tenants that are named at most. */
const MAX_NAMED = 100;

/** Rows of a tenant are refused while they lack an event that is older than this. */
const MAX_STALENESS_SECONDS = 60;

export class Progress {
  /** Whether `tell` is called with all news. */
  readonly isTold: boolean;
  readonly #positions = new Map<string, Position>();
  /** Of tenants whose rows are not shown. */
  #marks = new Map<string, 'filling' | Parked>();
  readonly #waiting = new Map<string, Set<Waiter>>();
  #read: Position = 0;
  #behind: ReadonlyMap<string, string> = new Map();
  /** The writes for which somebody has waited in vain, of a tenant: the first, and those since, also while nobody follows. */
  readonly #lacked = new Map<string, readonly Lack[]>();
  #isAsking = false;

  constructor(
    private readonly rows: Pick<RowReads, 'progress'>,
    { isTold }: Pick<Progress, 'isTold'>,
  ) {
    this.isTold = isTold;
  }

  tell(news: FollowerNews): void {
    switch (news.kind) {
      case 'applied':
        this.#reach(news.tenant, news.position);
        return;
      case 'begun':
        this.#marks = new Map(news.marks);
        return;
      case 'parked':
        this.#marks.set(news.tenant, news.parked);
        this.#giveUp(news.tenant);
        return;
      case 'filling':
        this.#forget(news.tenant);
        this.#marks.set(news.tenant, 'filling');
        this.#giveUp(news.tenant);
        return;
      case 'running':
        this.#marks.delete(news.tenant);
        return;
      case 'deleted':
        this.#forget(news.tenant);
        this.#giveUp(news.tenant);
        return;
      case 'reset':
        for (const tenant of this.#positions.keys()) this.#forget(tenant);
        this.#read = 0;
        return;
      case 'read':
        this.#read = news.position;
        // A follower that shares the tenants with others speaks of its own ones.
        if (!this.isTold) return;
        for (const tenant of [...this.#waiting.keys(), ...this.#lacked.keys()])
          if (!this.#marks.has(tenant)) this.#end(tenant, news.position);
        return;
      case 'behind':
        this.#behind = news.since;
    }
  }

  /** Up to here all events are applied, but those of parked and filled tenants; 0 before the first news. */
  get position(): Position {
    return this.#read;
  }

  parked(): readonly ParkedTenant[] {
    return [...this.#marks].flatMap(([tenant, mark]) => (mark === 'filling' ? [] : [{ tenant, ...mark }]));
  }

  /** Whose rows are made from the beginning, and not shown yet. */
  filling(): ReadonlySet<string> {
    return new Set([...this.#marks].flatMap(([tenant, mark]) => (mark === 'filling' ? [tenant] : [])));
  }

  /** Age of the tenant's oldest event that its rows are known to lack, in whole seconds; undefined: they lack none. */
  staleness(tenant: string): number | undefined {
    const since = this.#behind.get(tenant) ?? this.#lacked.get(tenant)?.[0]?.since;
    return since === undefined ? undefined : Math.max(0, Math.floor((Date.now() - Date.parse(since)) / 1_000));
  }

  /** Tenants that lack an event of more than a second ago, the oldest first; a part of them, if there are many. */
  behind(): readonly { readonly tenant: string; readonly seconds: number }[] {
    return [...new Set([...this.#behind.keys(), ...this.#lacked.keys()])]
      .map((tenant) => ({ tenant, seconds: this.staleness(tenant) ?? 0 }))
      .sort((a, b) => b.seconds - a.seconds)
      .slice(0, MAX_NAMED);
  }

  /** Why the tenant's rows are not shown now, for callers: they are made again, parked, or too old. Undefined: they are shown. */
  refusal(tenant: string): string | undefined {
    const mark = this.#marks.get(tenant);
    if (mark === 'filling') return 'The rows of this tenant are being made.';
    if (mark !== undefined) return `The rows of this tenant are not shown: ${notApplied(mark)}`;
    const seconds = this.staleness(tenant) ?? 0;
    return seconds <= MAX_STALENESS_SECONDS
      ? undefined
      : `The rows of this tenant are ${seconds} seconds behind what was written, more than the ${MAX_STALENESS_SECONDS} that are allowed.`;
  }

  /** What is read. @throws RowsUnavailableError for nothing where the rows were behind at the call */
  async found<Found>(tenant: string, read: () => Promise<Found | undefined>): Promise<Found | undefined> {
    // They may catch up while they are read.
    const isBehind = this.staleness(tenant) !== undefined;
    const found = await read();
    if (found === undefined && isBehind)
      throw new RowsUnavailableError('The rows of this tenant are behind: they may not show it yet.');
    return found;
  }

  /**
   * Resolves true as soon as the tenant's rows show the position, and false after the time; at once while the tenant is parked
   * or filled.
   * @throws what the rows' engine throws
   */
  async waitFor(tenant: string, position: Position, timeoutMs: number): Promise<boolean> {
    if ((this.#positions.get(tenant) ?? 0) >= position) return true;
    if (this.#marks.has(tenant)) return false;
    if (this.isTold && this.#read >= position) return true;
    const waiters = this.#waiting.get(tenant) ?? new Set();
    this.#waiting.set(tenant, waiters);
    let forget = (): void => undefined;
    const reached = new Promise<boolean>((resolve, reject) => {
      const waiter = { position, end: resolve };
      const timer = setTimeout(() => {
        this.#lack(tenant, position, timeoutMs);
        resolve(false);
      }, timeoutMs);
      waiters.add(waiter);
      forget = () => {
        clearTimeout(timer);
        waiters.delete(waiter);
        if (waiters.size === 0 && this.#waiting.get(tenant) === waiters) this.#waiting.delete(tenant);
      };
      // Nothing was told of the tenant since this process began, or nothing ever is.
      if (!this.#positions.has(tenant) || !this.isTold)
        this.#ask(tenant).catch((error: unknown) => {
          this.#lack(tenant, position, 0);
          reject(error);
        });
      if (!this.isTold) this.#keepAsking();
    });
    return reached.finally(forget);
  }

  async #ask(tenant: string): Promise<void> {
    const found = await this.rows.progress(tenant);
    if (found === undefined) this.#lacked.delete(tenant);
    else if (found.state === 'running') this.#reach(tenant, found.position);
    else this.#giveUp(tenant);
  }

  #lack(tenant: string, position: Position, waitedMs: number): void {
    const last = { position, since: new Date(Date.now() - waitedMs).toISOString() };
    const [first, second = last] = this.#lacked.get(tenant) ?? [];
    const more = { ...second, position: Math.max(second.position, position) };
    this.#lacked.set(tenant, first === undefined ? [last] : [first, more]);
  }

  /** Asks while anybody waits, or has waited in vain. */
  async #keepAsking(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    while (this.#waiting.size + this.#lacked.size > 0) {
      const ref = this.#waiting.size > 0;
      await delay(ref ? ASK_EVERY_MS : LOOK_EVERY_MS, undefined, { ref });
      const tenants = new Set([...this.#waiting.keys(), ...this.#lacked.keys()]);
      // Who begins to wait while the engine is away is told why.
      await Promise.allSettled([...tenants].map((tenant) => this.#ask(tenant)));
    }
    this.#isAsking = false;
  }

  #reach(tenant: string, position: Position): void {
    if ((this.#positions.get(tenant) ?? -1) < position) this.#positions.set(tenant, position);
    this.#end(tenant, position);
  }

  #end(tenant: string, position: Position): void {
    const lacked = this.#lacked.get(tenant)?.filter((each) => each.position > position) ?? [];
    if (lacked.length > 0) this.#lacked.set(tenant, lacked);
    else this.#lacked.delete(tenant);
    for (const waiter of this.#waiting.get(tenant) ?? []) if (waiter.position <= position) waiter.end(true);
  }

  #giveUp(tenant: string): void {
    for (const { end } of this.#waiting.get(tenant) ?? []) end(false);
  }

  #forget(tenant: string): void {
    this.#positions.delete(tenant);
    this.#lacked.delete(tenant);
    this.#marks.delete(tenant);
  }
}

/** How long a read waits for the first rows of a tenant, in milliseconds. */
const FIRST_ROWS_MS = 2_000;

/**
 * Rows that are answered only while they match the log: not while they are made again, parked or too old.
 * @throws RowsUnavailableError from reads of a tenant whose rows are not shown now
 */
export function shownRows(rows: RowReads, progress: Pick<Progress, 'refusal' | 'waitFor'>): RowReads {
  const requireShown = (tenant: string): void => {
    const refusal = progress.refusal(tenant);
    if (refusal !== undefined) throw new RowsUnavailableError(refusal);
  };
  const shown =
    <Query, Answer extends { readonly state: SpaceState }>(
      read: (space: SpaceRef, query: Query, cancellation?: Cancellation) => Promise<Answer>,
    ) =>
    async (space: SpaceRef, query: Query, cancellation?: Cancellation): Promise<Answer> => {
      for (let isFirst = true; ; isFirst = false) {
        requireShown(space.tenant);
        const answer = await read.call(rows, space, query, cancellation);
        // They may have been set aside meanwhile.
        requireShown(space.tenant);
        if (answer.state.progress > 0) return answer;
        // A tenant begins with rows: it has just been created, or they are lost, and that is not told of yet.
        if (!isFirst || !(await progress.waitFor(space.tenant, 1, FIRST_ROWS_MS)))
          throw new RowsUnavailableError('The rows of this tenant are being made.');
      }
    };
  return {
    rows: shown(rows.rows),
    page: shown(rows.page),
    versions: shown(rows.versions),
    async spaces(tenant) {
      requireShown(tenant);
      const spaces = await rows.spaces(tenant);
      requireShown(tenant);
      return spaces;
    },
    progress: (tenant) => rows.progress(tenant),
    close: () => rows.close(),
  };
}

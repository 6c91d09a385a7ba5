/**
 * How stale the read models of a tenant are: the age of its oldest event that the projections have not applied. While they
 * are current, the log is asked for its head only, once for each check of the barrier.
 */
import PQueue from 'p-queue';
import type { EventStore, Position } from '../ports/eventStore.js';
import {
  BehindSearch,
  firstUnapplied,
  NOTABLE_SECONDS,
  type Progress,
  type TenantsBehind,
  type Unapplied,
} from '../projector/lag.js';
import { projections } from '../projector/projections.js';

/** The result for one tenant is kept this long, in milliseconds, and not beyond a move of the projections. */
const KNOWN_MS = 1_000;
/** Tenants whose events are searched for at once. */
const SEARCHES_AT_ONCE = 4;
/** How long, in milliseconds, one search for all tenants that are behind takes. */
const BEHIND_SEARCH_MS = 200;
/** Tenants with a known result; more clear them all. */
const MAX_KNOWN = 10_000;

/** The tenants with a notable staleness, and the largest of them. */
export type Behind = TenantsBehind & { readonly seconds: number };

type Known = { readonly searchedAt: number; readonly after: Position; readonly first: Promise<Unapplied | undefined> };

export class Staleness {
  readonly #eventStore: Pick<EventStore, 'head' | 'subscribe'>;
  readonly #now: () => number;
  readonly #searches = new PQueue({ concurrency: SEARCHES_AT_ONCE });
  #progress: Progress = { after: 0 };
  /** The oldest unapplied write of all tenants. */
  #oldest: Unapplied | undefined;
  #searching: Promise<void> | undefined;
  readonly #behindSearch: BehindSearch;
  #behind: { readonly searchedAt: number; readonly found: Promise<TenantsBehind> } | undefined;
  readonly #known = new Map<string, Known>();
  /** The last result, by tenant. */
  readonly #found = new Map<string, Unapplied>();

  /** @param now milliseconds since 1970, for tests */
  constructor(eventStore: Pick<EventStore, 'head' | 'subscribe'>, now: () => number = Date.now) {
    this.#eventStore = eventStore;
    this.#now = now;
    this.#behindSearch = new BehindSearch(eventStore, projections);
  }

  /** Whether any tenant's may be notable; otherwise there is nothing to ask. */
  get isNotable(): boolean {
    return this.#ageOf(this.#oldest) >= NOTABLE_SECONDS;
  }

  /** Call it with the progress of the projections, repeatedly. Keeps what is known if the log cannot be read. */
  async reached(progress: Progress): Promise<void> {
    this.#progress = progress;
    // Even if the log cannot name the next oldest event.
    this.#oldest = this.#unlessApplied(this.#oldest);
    if (this.#oldest !== undefined) return;
    this.#searching ??= this.#findOldest(progress).finally(() => {
      this.#searching = undefined;
    });
    await this.#searching;
  }

  /** Never rejects. */
  async #findOldest(progress: Progress): Promise<void> {
    try {
      const isBehind = progress.after < (await this.#eventStore.head());
      this.#oldest = isBehind ? await firstUnapplied(this.#eventStore, projections, progress) : undefined;
      if (!isBehind) this.#forget();
    } catch {
      // The health of the log is reported elsewhere.
    }
  }

  /** The tenants found in a short search; undefined if none is behind. @throws what the log throws */
  async behind(): Promise<Behind | undefined> {
    await this.#searching;
    if (!this.isNotable) return undefined;
    const now = this.#now();
    if (this.#behind === undefined || now - this.#behind.searchedAt >= KNOWN_MS) {
      const found = this.#behindSearch.find(this.#progress, now - NOTABLE_SECONDS * 1_000, BEHIND_SEARCH_MS);
      this.#behind = { searchedAt: now, found };
    }
    return { ...(await this.#behind.found), seconds: Math.floor(this.#ageOf(this.#oldest)) };
  }

  /** The last result in whole seconds; 0 if the tenant is not known to be behind. */
  known(tenant: string): number {
    return this.isNotable ? Math.floor(this.#ageOf(this.#unlessApplied(this.#found.get(tenant)))) : 0;
  }

  /** In seconds. If the log cannot be searched in time, the largest of all tenants. */
  async of(tenant: string): Promise<number> {
    if (!this.isNotable) return 0;
    try {
      return this.#ageOf(await this.#first(tenant));
    } catch {
      return this.#ageOf(this.#oldest);
    }
  }

  async #first(tenant: string): Promise<Unapplied | undefined> {
    const found = this.#unlessApplied(this.#found.get(tenant));
    if (found !== undefined) return found;
    const known = this.#known.get(tenant);
    const progress = this.#progress;
    const { after } = progress;
    if (known?.after === after && this.#now() - known.searchedAt < KNOWN_MS) return known.first;
    const first = this.#searches.add(() => firstUnapplied(this.#eventStore, projections, progress, tenant));
    if (this.#known.size >= MAX_KNOWN) this.#forget();
    this.#known.set(tenant, { searchedAt: this.#now(), after, first });
    const unapplied = await first;
    if (unapplied === undefined) this.#found.delete(tenant);
    else this.#found.set(tenant, unapplied);
    return unapplied;
  }

  #forget(): void {
    this.#known.clear();
    this.#found.clear();
  }

  #unlessApplied(event: Unapplied | undefined): Unapplied | undefined {
    const { after, outOfOrder } = this.#progress;
    return event !== undefined && event.position > after && outOfOrder?.has(event.position) !== true
      ? event
      : undefined;
  }

  #ageOf(event: Unapplied | undefined): number {
    return event === undefined ? 0 : Math.max(0, (this.#now() - event.at) / 1000);
  }
}

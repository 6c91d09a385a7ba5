/**
 * How old what is shown of a tenant is: the age of its oldest event that the projections have not applied. While they are
 * current nothing is asked for it but where the log ends, once for each look of the gate.
 */
import PQueue from 'p-queue';
import type { EventStore, Position } from '../ports/eventStore.js';
import type { OutOfOrder } from '../ports/readModels.js';
import { projections } from '../projector/projections.js';
import { firstUnapplied, fullyApplied, type Projected, type Unapplied } from '../projector/unapplied.js';
import { BehindLooks, type TenantsBehind } from './tenantsBehind.js';

/** From so many seconds on it is worth a word. */
export const NOTABLE_SECONDS = 1;

/** What is known of one tenant is at most so old, in milliseconds, unless it holds until the projections move. */
const KNOWN_MS = 1_000;
/** Tenants whose part of the log is looked through at once. */
const LOOKS_AT_ONCE = 4;
/** So long, in milliseconds, the log is looked through at a time for all who are behind. */
const BEHIND_LOOK_MS = 200;
/** Tenants of which something is known; all others are looked up. */
const MAX_KNOWN = 10_000;

/** Whose staleness is notable, and how old the oldest of their events is. */
export type Behind = TenantsBehind & { readonly seconds: number };

type Known = { readonly lookedAt: number; readonly after: Position; readonly first: Promise<Unapplied | undefined> };

export class Staleness {
  readonly #eventStore: Pick<EventStore, 'head' | 'subscribe'>;
  readonly #now: () => number;
  readonly #looks = new PQueue({ concurrency: LOOKS_AT_ONCE });
  #projected: Projected = { after: 0 };
  /** The oldest of anybody's. */
  #oldest: Unapplied | undefined;
  #looking: Promise<void> | undefined;
  readonly #behindLooks: BehindLooks;
  #behind: { readonly lookedAt: number; readonly found: Promise<TenantsBehind> } | undefined;
  readonly #known = new Map<string, Known>();
  /** As it was found last, by tenant. */
  readonly #found = new Map<string, Unapplied>();

  /** @param now milliseconds since 1970, for tests */
  constructor(eventStore: Pick<EventStore, 'head' | 'subscribe'>, now: () => number = Date.now) {
    this.#eventStore = eventStore;
    this.#now = now;
    this.#behindLooks = new BehindLooks(eventStore, projections);
  }

  /** Whether anybody's may be notable: else there is nothing to ask. */
  get isNotable(): boolean {
    return this.#ageOf(this.#oldest) >= NOTABLE_SECONDS;
  }

  /** To be told, again and again, how far the projections have come. What is not known of the log stays as it is. */
  async reached(projected: Projected): Promise<void> {
    this.#projected = projected;
    // Also where the log cannot say what is the oldest now.
    this.#oldest = this.#applied(this.#oldest);
    if (this.#oldest !== undefined) return;
    this.#looking ??= this.#findOldest(projected).finally(() => {
      this.#looking = undefined;
    });
    await this.#looking;
  }

  /** Never rejects. */
  async #findOldest(projected: Projected): Promise<void> {
    try {
      const isBehind = projected.after < (await this.#eventStore.head());
      this.#oldest = isBehind ? await firstUnapplied(this.#eventStore, projections, projected) : undefined;
      if (!isBehind) this.#forget();
    } catch {
      // A log that is away tells nothing new; that is for others to say.
    }
  }

  /** As far as it is found within a moment; undefined where nobody is. @throws what the log throws */
  async behind(): Promise<Behind | undefined> {
    await this.#looking;
    if (!this.isNotable) return undefined;
    const now = this.#now();
    if (this.#behind === undefined || now - this.#behind.lookedAt >= KNOWN_MS) {
      const found = this.#behindLooks.look(this.#projected, now - NOTABLE_SECONDS * 1_000, BEHIND_LOOK_MS);
      this.#behind = { lookedAt: now, found };
    }
    return { ...(await this.#behind.found), seconds: Math.floor(this.#ageOf(this.#oldest)) };
  }

  /** In whole seconds, as it was found last: 0 where the tenant is not known to be behind. */
  known(tenant: string): number {
    return this.isNotable ? Math.floor(this.#ageOf(this.#applied(this.#found.get(tenant)))) : 0;
  }

  /** In seconds. Where the log cannot be looked through in time, that of the tenant that is furthest behind. */
  async of(tenant: string): Promise<number> {
    if (!this.isNotable) return 0;
    try {
      return this.#ageOf(await this.#first(tenant));
    } catch {
      return this.#ageOf(this.#oldest);
    }
  }

  async #first(tenant: string): Promise<Unapplied | undefined> {
    const found = this.#applied(this.#found.get(tenant));
    if (found !== undefined) return found;
    const known = this.#known.get(tenant);
    const projected = this.#projected;
    const { after } = projected;
    if (known?.after === after && this.#now() - known.lookedAt < KNOWN_MS) return known.first;
    const first = this.#looks.add(() => firstUnapplied(this.#eventStore, projections, projected, tenant));
    if (this.#known.size >= MAX_KNOWN) this.#forget();
    this.#known.set(tenant, { lookedAt: this.#now(), after, first });
    const unapplied = await first;
    if (unapplied === undefined) this.#found.delete(tenant);
    else this.#found.set(tenant, unapplied);
    return unapplied;
  }

  #forget(): void {
    this.#known.clear();
    this.#found.clear();
  }

  /** The event, unless the projections have come to it. */
  #applied(event: Unapplied | undefined): Unapplied | undefined {
    const { after, outOfOrder } = this.#projected;
    return event !== undefined && event.position > after && outOfOrder?.has(event.position) !== true
      ? event
      : undefined;
  }

  #ageOf(event: Unapplied | undefined): number {
    return event === undefined ? 0 : Math.max(0, (this.#now() - event.at) / 1000);
  }
}

/** So long, in milliseconds, an operator waits to be told all. */
const WHOLE_LOOK_MS = 10_000;

/** Whose events the projection has not applied, of those that are behind by a notable time. @throws what the log throws */
export async function tenantsBehind(
  eventStore: Pick<EventStore, 'subscribe'>,
  { name, position, behind }: { readonly name: string; readonly position: Position; readonly behind: number },
  outOfOrder: readonly OutOfOrder[],
): Promise<TenantsBehind> {
  if (behind === 0) return { names: [], isAll: true };
  const own = projections.filter((projection) => projection.name === name);
  const writtenBefore = Date.now() - NOTABLE_SECONDS * 1_000;
  return new BehindLooks(eventStore, own).look(
    { after: position, outOfOrder: fullyApplied(outOfOrder, name) },
    writtenBefore,
    WHOLE_LOOK_MS,
  );
}

/** The tenants that a follower has: those with rows, and those that the log tells of; and how they take turns. */
import { tenantOf, tenantStream } from '../domain/streams.js';
import type { EventStore, Position, RecordedEvent } from '../ports/eventStore.js';
import type { Parked, RowWriter } from '../ports/rowStore.js';
import { nextTurn, WakeUp } from '../supervision/waiting.js';
import { FollowedTenant } from './followedTenant.js';
import type { FollowerNews } from './progress.js';

/** Younger events are no news. */
const NOTABLE_MS = 1_000;

export type TenantDeps = {
  readonly eventStore: Pick<EventStore, 'readStream'>;
  readonly writer: Pick<RowWriter, 'tenants' | 'mark' | 'remove'>;
  readonly onNews: (news: FollowerNews) => void;
  /** Whether this follower has the tenant. Default: it has all. */
  readonly isOwn?: (tenant: string) => boolean;
};

export class FollowedTenants implements Iterable<FollowedTenant> {
  readonly #tenants = new Map<string, FollowedTenant>();
  /** Tenants that were deleted, or that the log only mentions. */
  readonly #gone = new Set<string>();
  /** Where the log was at the start: tenants that were created before are filled. */
  #head: Position = 0;

  constructor(private readonly deps: TenantDeps) {}

  /**
   * Those with rows. A release may know how to apply what the one before could not, so parked ones are read as well.
   * @param place from where the log is read for all: what the rows have beyond it is not counted on
   */
  async begin(head: Position, place: Position): Promise<void> {
    this.#head = head;
    for (const [name, { position, state, parked }] of await this.deps.writer.tenants()) {
      const mark = parked ?? (state === 'filling' ? state : undefined);
      // Where those are that run is looked up when they have their turn.
      const known = { position: mark === undefined ? 0 : Math.min(position, place), mark, isApart: mark !== undefined };
      this.#tenants.set(name, new FollowedTenant(name, known));
    }
  }

  /** Those whose rows are not shown. */
  marks(): ReadonlyMap<string, 'filling' | Parked> {
    return new Map([...this].flatMap(({ name, mark }) => (mark === undefined ? [] : [[name, mark]])));
  }

  [Symbol.iterator](): Iterator<FollowedTenant> {
    return this.#tenants.values();
  }

  get(name: string | undefined): FollowedTenant | undefined {
    return name === undefined ? undefined : this.#tenants.get(name);
  }

  has(tenant: FollowedTenant): boolean {
    return this.#tenants.get(tenant.name) === tenant;
  }

  /**
   * All events up to here are applied, but those of parked tenants and of those that are filled, whose marks say so.
   * @param place up to where the log was read for all
   */
  appliedTo(place: Position): Position {
    let applied = place;
    for (const { next, isApart, parked, mark, readTo } of this) {
      if (parked !== undefined || (isApart && mark !== undefined)) continue;
      if (next !== undefined) applied = Math.min(applied, next.position - 1);
      else if (isApart) applied = Math.min(applied, readTo);
    }
    return applied;
  }

  /** Those with an event that was written a second ago, or longer, and is not applied: when it was (ISO 8601). */
  behind(): ReadonlyMap<string, string> {
    const before = new Date(Date.now() - NOTABLE_MS).toISOString();
    const oldest = [...this].map(
      ({ name, mark, since = before }) => [name, mark === undefined ? since : before] as const,
    );
    return new Map(oldest.filter(([, since]) => since < before));
  }

  /** Makes known the tenants of these events. */
  async know(events: readonly RecordedEvent[]): Promise<void> {
    for (const event of events) {
      const name = tenantOf(event);
      if (name === undefined || this.#tenants.has(name)) continue;
      if (event.type !== 'TenantCreated' || event.stream !== tenantStream(name)) await this.#find(name);
      else if (this.deps.isOwn?.(name) !== false) await this.#create(name, event.position);
    }
  }

  async #create(name: string, position: Position): Promise<void> {
    const tenant = new FollowedTenant(name, { position: 0 });
    this.#tenants.set(name, tenant);
    if (position > this.#head) return;
    tenant.shownFrom = this.#head;
    await this.#fill(tenant);
  }

  /** A tenant that the log has from before, and that has no rows: it was deleted, or its rows are lost. */
  async #find(name: string): Promise<void> {
    if (this.#tenants.has(name) || this.#gone.has(name) || this.deps.isOwn?.(name) === false) return;
    const history = await this.deps.eventStore.readStream(tenantStream(name));
    if (history.length === 0 || history.some(({ type }) => type === 'TenantDeleted')) {
      this.#gone.add(name);
      return;
    }
    const tenant = new FollowedTenant(name, { position: 0, isApart: true });
    this.#tenants.set(name, tenant);
    await this.#fill(tenant);
  }

  async #fill(tenant: FollowedTenant): Promise<void> {
    tenant.mark = 'filling';
    this.deps.onNews({ kind: 'filling', tenant: tenant.name });
    await this.deps.writer.mark(tenant.name, 'filling');
  }

  async delete(tenant: FollowedTenant): Promise<void> {
    const { name } = tenant;
    this.#gone.add(name);
    this.#tenants.delete(name);
    tenant.forgetWaiting();
    await this.deps.writer.remove(name);
    this.deps.onNews({ kind: 'deleted', tenant: name });
  }
}

/** Tenants take turns, so that none waits for all the work of another. */
export class Turns {
  /** Those with a turn to take, in the order of their turns, and the one that has it. */
  readonly #ready = new Set<FollowedTenant>();
  #busy: FollowedTenant | undefined;
  /** It was woken during its turn: it may have looked before there was something to do. */
  #isWoken = false;
  readonly #work = new WakeUp();

  /** @param onEnd called after each turn */
  constructor(
    private readonly turn: (tenant: FollowedTenant) => Promise<void>,
    private readonly onEnd: () => void,
  ) {}

  get open(): readonly FollowedTenant[] {
    return [...this.#ready, ...(this.#busy === undefined ? [] : [this.#busy])];
  }

  wake(tenant: FollowedTenant): void {
    if (this.#busy === tenant) this.#isWoken = true;
    else this.#ready.add(tenant);
    this.#work.wake();
  }

  leave(tenant: FollowedTenant): void {
    this.#ready.delete(tenant);
    if (this.#busy === tenant) this.#isWoken = false;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const [tenant] = this.#ready;
      if (tenant === undefined) {
        await this.#work.wait(undefined, signal);
        continue;
      }
      this.#ready.delete(tenant);
      this.#busy = tenant;
      try {
        await this.turn(tenant);
        // Readers and messages come between two turns.
        if (this.#ready.size > 0 || tenant.hasTurn) await nextTurn();
      } finally {
        this.#busy = undefined;
        if (this.#isWoken || tenant.hasTurn) this.#ready.add(tenant);
        this.#isWoken = false;
        tenant.turnEnded.wake();
        this.onEnd();
      }
    }
  }
}

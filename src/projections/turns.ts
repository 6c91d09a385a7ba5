/** Tenants take turns, so that none waits for all the work of another. */
import { nextTurn, WakeUp } from '../supervision/waiting.js';
import type { FollowedTenant } from './followedTenant.js';

export class Turns {
  readonly #atOnce: number;
  readonly #turn: (tenant: FollowedTenant) => Promise<void>;
  readonly #onEnd: () => void;
  /** Those with a turn to take, in the order of their turns, and those that have it. */
  readonly #ready = new Set<FollowedTenant>();
  readonly #busy = new Set<FollowedTenant>();
  /** Those that were woken during their turn: it may have looked before there was something to do. */
  readonly #woken = new Set<FollowedTenant>();
  readonly #work = new WakeUp();

  /** @param onEnd called after each turn */
  constructor(atOnce: number, turn: (tenant: FollowedTenant) => Promise<void>, onEnd: () => void) {
    this.#atOnce = atOnce;
    this.#turn = turn;
    this.#onEnd = onEnd;
  }

  /** All with something to do. */
  get open(): readonly FollowedTenant[] {
    return [...this.#ready, ...this.#busy];
  }

  get isIdle(): boolean {
    return this.#ready.size + this.#busy.size === 0;
  }

  /** The tenant may have something to do. */
  wake(tenant: FollowedTenant): void {
    if (this.#busy.has(tenant)) this.#woken.add(tenant);
    else this.#ready.add(tenant);
    this.#work.wake();
  }

  leave(tenant: FollowedTenant): void {
    this.#ready.delete(tenant);
    this.#woken.delete(tenant);
  }

  /** @throws what a turn throws, after all turns have ended */
  async run(signal: AbortSignal): Promise<void> {
    const failures: unknown[] = [];
    while (!signal.aborted && failures.length === 0) {
      const [tenant] = this.#ready;
      if (tenant === undefined || this.#busy.size >= this.#atOnce) {
        await this.#work.wait(undefined, signal);
        continue;
      }
      this.#ready.delete(tenant);
      this.#busy.add(tenant);
      this.#take(tenant).catch((error: unknown) => void failures.push(error));
    }
    while (this.#busy.size > 0) await this.#work.wait(undefined);
    if (failures.length > 0) throw failures[0];
  }

  async #take(tenant: FollowedTenant): Promise<void> {
    try {
      await this.#turn(tenant);
      // Readers and messages come between two turns.
      if (this.#ready.size > 0 || tenant.hasTurn) await nextTurn();
    } finally {
      this.#busy.delete(tenant);
      const isWoken = this.#woken.delete(tenant);
      if (isWoken || tenant.hasTurn) this.#ready.add(tenant);
      this.#work.wake();
      tenant.turnEnded.wake();
      this.#onEnd();
    }
  }
}

/** Tenants take turns, so that none waits for all the work of another. */
import { nextTurn, WakeUp } from '../supervision/waiting.js';
import type { FollowedTenant } from './followedTenant.js';

export class Turns {
  readonly #turn: (tenant: FollowedTenant) => Promise<void>;
  readonly #onEnd: () => void;
  /** Those with a turn to take, in the order of their turns, and the one that has it. */
  readonly #ready = new Set<FollowedTenant>();
  #busy: FollowedTenant | undefined;
  /** It was woken during its turn: it may have looked before there was something to do. */
  #isWoken = false;
  readonly #work = new WakeUp();

  /** @param onEnd called after each turn */
  constructor(turn: (tenant: FollowedTenant) => Promise<void>, onEnd: () => void) {
    this.#turn = turn;
    this.#onEnd = onEnd;
  }

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
        await this.#turn(tenant);
        // Readers and messages come between two turns.
        if (this.#ready.size > 0 || tenant.hasTurn) await nextTurn();
      } finally {
        this.#busy = undefined;
        if (this.#isWoken || tenant.hasTurn) this.#ready.add(tenant);
        this.#isWoken = false;
        tenant.turnEnded.wake();
        this.#onEnd();
      }
    }
  }
}

/** Waits until a projection has reached a position; commits in any thread of this process are announced on a channel. */
import { realpathSync } from 'node:fs';
import { BroadcastChannel } from 'node:worker_threads';
import type { Position } from '../../../ports/eventStore.js';

export type Checkpoints = ReadonlyMap<string, Position>;

/** Where the writer announces what it has committed. The file must exist: its real path names the channel. */
export function openCheckpointChannel(file: string): BroadcastChannel {
  const channel = new BroadcastChannel(`dynamic-assets:readmodels:${realpathSync(file)}`);
  channel.unref();
  return channel;
}

/** What is stored. */
export type StoredProgress = {
  checkpoint(projection: string): Position;
  isParked(tenant: string, projection: string): boolean;
};

/** For what another process commits, which is not announced here. */
const POLL_MS = 100;

type Waiter = {
  readonly projection: string;
  readonly position: Position;
  readonly tenant: string | undefined;
  readonly end: (reached: boolean) => void;
};

export class CheckpointWatch {
  readonly #channel: BroadcastChannel;
  readonly #stored: StoredProgress;
  /** As last announced; what is stored may be further on. */
  readonly #announced = new Map<string, Position>();
  readonly #waiters = new Set<Waiter>();
  #poll: NodeJS.Timeout | undefined;

  constructor(channel: BroadcastChannel, stored: StoredProgress) {
    this.#channel = channel;
    this.#stored = stored;
    channel.onmessage = (message: unknown) => {
      const checkpoints = (message as { readonly data: Checkpoints }).data;
      for (const [projection, position] of checkpoints) this.#reached(projection, position);
    };
  }

  /** @returns false when the position is not reached within `timeoutMs`, or before `close`, or is passed over for the tenant */
  async waitFor(projection: string, position: Position, timeoutMs: number, tenant?: string): Promise<boolean> {
    const stored = (): boolean => this.#stored.checkpoint(projection) >= position;
    const isReached = (this.#announced.get(projection) ?? -1) >= position || stored();
    const isParked = this.#isParked(projection, tenant);
    if (isReached || isParked) return !isParked;
    return new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => waiter.end(stored() && !this.#isParked(projection, tenant)), timeoutMs);
      const waiter: Waiter = {
        projection,
        position,
        tenant,
        end: (reached) => {
          clearTimeout(timer);
          this.#waiters.delete(waiter);
          if (this.#waiters.size === 0) clearInterval(this.#poll);
          resolve(reached);
        },
      };
      if (this.#waiters.size === 0) this.#poll = setInterval(() => this.#readStored(), POLL_MS);
      this.#waiters.add(waiter);
    });
  }

  #readStored(): void {
    const projections = new Set([...this.#waiters].map(({ projection }) => projection));
    for (const projection of projections) this.#reached(projection, this.#stored.checkpoint(projection));
  }

  #reached(projection: string, position: Position): void {
    this.#announced.set(projection, position);
    for (const waiter of this.#waiters) {
      if (waiter.projection === projection && waiter.position <= position) {
        waiter.end(!this.#isParked(projection, waiter.tenant));
      }
    }
  }

  /** Asked after the checkpoint: events are passed over in the commit that parks, or later. */
  #isParked(projection: string, tenant: string | undefined): boolean {
    return tenant !== undefined && this.#stored.isParked(tenant, projection);
  }

  close(): void {
    for (const waiter of [...this.#waiters]) waiter.end(false);
    this.#channel.close();
  }
}

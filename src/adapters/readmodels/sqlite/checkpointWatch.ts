/** Waits until a projection has reached a position. */
import type { BroadcastChannel } from 'node:worker_threads';
import type { Position } from '../../../ports/eventStore.js';
import type { Checkpoints } from './checkpointChannel.js';

/** For what another process commits, which no message tells. */
const POLL_MS = 100;

type Waiter = {
  readonly projection: string;
  readonly position: Position;
  readonly settle: (reached: boolean) => void;
};

export class CheckpointWatch {
  readonly #channel: BroadcastChannel;
  readonly #read: (projection: string) => Position;
  /** As last told; what is stored may be further on. */
  readonly #told = new Map<string, Position>();
  readonly #waiters = new Set<Waiter>();
  #poll: NodeJS.Timeout | undefined;

  /** `read` gives what is stored. */
  constructor(channel: BroadcastChannel, read: (projection: string) => Position) {
    this.#channel = channel;
    this.#read = read;
    channel.onmessage = (message: unknown) => {
      const checkpoints = (message as { readonly data: Checkpoints }).data;
      for (const [projection, position] of checkpoints) this.#tell(projection, position);
    };
  }

  async waitFor(projection: string, position: Position, timeoutMs: number): Promise<boolean> {
    if ((this.#told.get(projection) ?? -1) >= position) return true;
    if (this.#read(projection) >= position) return true;
    return new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => waiter.settle(this.#read(projection) >= position), timeoutMs);
      const waiter: Waiter = {
        projection,
        position,
        settle: (reached) => {
          clearTimeout(timer);
          this.#waiters.delete(waiter);
          if (this.#waiters.size === 0) clearInterval(this.#poll);
          resolve(reached);
        },
      };
      if (this.#waiters.size === 0) this.#poll = setInterval(() => this.#look(), POLL_MS);
      this.#waiters.add(waiter);
    });
  }

  #look(): void {
    const projections = new Set([...this.#waiters].map(({ projection }) => projection));
    for (const projection of projections) this.#tell(projection, this.#read(projection));
  }

  #tell(projection: string, position: Position): void {
    this.#told.set(projection, position);
    for (const waiter of this.#waiters) {
      if (waiter.projection === projection && waiter.position <= position) waiter.settle(true);
    }
  }

  /** Those who still wait are told that it was not reached. */
  close(): void {
    for (const waiter of [...this.#waiters]) waiter.settle(false);
    this.#channel.close();
  }
}

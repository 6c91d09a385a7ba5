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

/** For what another process commits, which is not announced here. */
const POLL_MS = 100;

type Waiter = {
  readonly projection: string;
  readonly position: Position;
  readonly end: (reached: boolean) => void;
};

export class CheckpointWatch {
  readonly #channel: BroadcastChannel;
  readonly #read: (projection: string) => Position;
  /** As last announced; what is stored may be further on. */
  readonly #announced = new Map<string, Position>();
  readonly #waiters = new Set<Waiter>();
  #poll: NodeJS.Timeout | undefined;

  /** `read` gives what is stored. */
  constructor(channel: BroadcastChannel, read: (projection: string) => Position) {
    this.#channel = channel;
    this.#read = read;
    channel.onmessage = (message: unknown) => {
      const checkpoints = (message as { readonly data: Checkpoints }).data;
      for (const [projection, position] of checkpoints) this.#reached(projection, position);
    };
  }

  /** @returns false when the position is not reached within `timeoutMs`, or before `close` */
  async waitFor(projection: string, position: Position, timeoutMs: number): Promise<boolean> {
    if ((this.#announced.get(projection) ?? -1) >= position) return true;
    if (this.#read(projection) >= position) return true;
    return new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => waiter.end(this.#read(projection) >= position), timeoutMs);
      const waiter: Waiter = {
        projection,
        position,
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
    for (const projection of projections) this.#reached(projection, this.#read(projection));
  }

  #reached(projection: string, position: Position): void {
    this.#announced.set(projection, position);
    for (const waiter of this.#waiters) {
      if (waiter.projection === projection && waiter.position <= position) waiter.end(true);
    }
  }

  close(): void {
    for (const waiter of [...this.#waiters]) waiter.end(false);
    this.#channel.close();
  }
}

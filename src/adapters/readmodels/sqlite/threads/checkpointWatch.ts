/** Waits until a projection has reached a position, or has applied an event. The writer announces its commits on a channel. */
import { realpathSync } from 'node:fs';
import { BroadcastChannel } from 'node:worker_threads';
import type { Position } from '../../../../ports/eventStore.js';
import type { OutOfOrder } from '../../../../ports/projectionProgress.js';
import { parkedKey } from '../progress.js';

export type Checkpoints = ReadonlyMap<string, Position>;

/** The channel on which the writer announces its commits. The file must exist: its real path names the channel. */
export function openCheckpointChannel(file: string): BroadcastChannel {
  const channel = new BroadcastChannel(`dynamic-assets:readmodels:${realpathSync(file)}`);
  channel.unref();
  return channel;
}

/** The announcement of a commit. */
export type Reached = {
  /** Number of the file (`fileNumber`): another one may have taken its place. */
  readonly file: number | undefined;
  readonly checkpoints: Checkpoints;
  /** Events that are applied beyond the checkpoints. */
  readonly outOfOrder: readonly Pick<OutOfOrder, 'projection' | 'position'>[];
  /** Parked tenants, by `parkedKey`: events behind their own checkpoints are passed over. */
  readonly parked: readonly string[];
};

/** The stored progress of a projection, and whether it has applied an event and parked a tenant. */
export type StoredProgress = {
  readonly checkpoint: Position;
  readonly isOutOfOrder: boolean;
  readonly isParked: boolean;
};

/** For commits of other processes, which are not announced here. */
const POLL_MS = 100;

type Wanted = {
  readonly projection: string;
  readonly position: Position;
  /** The tenant of the awaited event; undefined: any. */
  readonly tenant?: string | undefined;
  /** Only this event, and those before it in its stream, must be applied. */
  readonly alone?: boolean;
};

type Waiter = Wanted & { readonly end: (reached: boolean) => void };

export class CheckpointWatch {
  readonly #channel: BroadcastChannel;
  readonly #file: number | undefined;
  readonly #onOtherFile: () => void;
  readonly #read: (projection: string, position: Position, tenant: string | undefined) => StoredProgress;
  /** No Set: of one where things come and go all the time, V8 keeps what was in it until the next full collection. */
  readonly #waiters: Waiter[] = [];
  #poll: NodeJS.Timeout | undefined;
  /** The last announcement. */
  #heard: Reached | undefined;
  /** The highest position that was announced as applied out of order. */
  #furthestOutOfOrder = 0;

  /**
   * @param read reads one snapshot
   * @param onOtherFile called when a commit went to another file, which has taken the place of this one
   */
  constructor(
    {
      channel,
      file,
      onOtherFile,
    }: Pick<Reached, 'file'> & {
      readonly channel: BroadcastChannel;
      readonly onOtherFile: () => void;
    },
    read: (projection: string, position: Position, tenant: string | undefined) => StoredProgress,
  ) {
    this.#channel = channel;
    this.#file = file;
    this.#onOtherFile = onOtherFile;
    this.#read = read;
    channel.onmessage = (message: unknown) => this.#hear((message as { readonly data: Reached }).data);
  }

  /** @returns false if the position is not reached within `timeoutMs` or before `close`, or if the tenant is parked */
  async waitFor(wanted: Wanted, timeoutMs: number): Promise<boolean> {
    if (!this.#isToCome(wanted)) {
      const stored = this.#stored(wanted);
      if (stored !== 'waiting') return stored === 'reached';
    }
    return new Promise<boolean>((resolve) => {
      const timer = Number.isFinite(timeoutMs)
        ? setTimeout(() => waiter.end(this.#stored(wanted) === 'reached'), timeoutMs)
        : undefined;
      const waiter: Waiter = {
        ...wanted,
        end: (hasReached) => {
          clearTimeout(timer);
          this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
          resolve(hasReached);
        },
      };
      this.#waiters.push(waiter);
      this.#poll ??= setInterval(() => this.#look(), POLL_MS);
    });
  }

  #look(): void {
    if (this.#waiters.length === 0) {
      clearInterval(this.#poll);
      this.#poll = undefined;
    }
    for (const waiter of [...this.#waiters]) {
      const stored = this.#stored(waiter);
      if (stored !== 'waiting') waiter.end(stored === 'reached');
    }
  }

  #hear(reached: Reached): void {
    const { checkpoints, outOfOrder, parked } = reached;
    if (reached.file !== this.#file) {
      this.#onOtherFile();
      return;
    }
    this.#heard = reached;
    for (const { position } of outOfOrder) this.#furthestOutOfOrder = Math.max(this.#furthestOutOfOrder, position);
    for (const waiter of [...this.#waiters]) {
      const { projection, position, tenant, alone } = waiter;
      const isReached =
        position <= (checkpoints.get(projection) ?? -1) ||
        (alone === true && outOfOrder.some((each) => each.projection === projection && each.position === position));
      if (isReached) waiter.end(tenant === undefined || !parked.includes(parkedKey({ tenant, projection })));
    }
  }

  /** By the last announcement it is not reached yet: no need to read the file. */
  #isToCome({ projection, position }: Wanted): boolean {
    if (this.#heard === undefined) return false;
    const { checkpoints, parked } = this.#heard;
    return (
      parked.length === 0 && position > Math.max(checkpoints.get(projection) ?? position, this.#furthestOutOfOrder)
    );
  }

  #stored({ projection, position, tenant, alone }: Wanted): 'reached' | 'parked' | 'waiting' {
    const { checkpoint, isOutOfOrder, isParked } = this.#read(projection, position, tenant);
    if (alone === true && isOutOfOrder) return 'reached';
    if (isParked) return 'parked';
    return checkpoint >= position ? 'reached' : 'waiting';
  }

  close(): void {
    for (const waiter of [...this.#waiters]) waiter.end(false);
    clearInterval(this.#poll);
    this.#channel.close();
  }
}

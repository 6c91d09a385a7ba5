/** Waits until a projection has reached a position, or has applied an event; commits in any thread of this process are announced on a channel. */
import { realpathSync } from 'node:fs';
import { BroadcastChannel } from 'node:worker_threads';
import type { Position } from '../../../../ports/eventStore.js';
import type { OutOfOrder } from '../../../../ports/projectionProgress.js';
import { parkedKey } from '../write/parked.js';

export type Checkpoints = ReadonlyMap<string, Position>;

/** Where the writer announces what it has committed. The file must exist: its real path names the channel. */
export function openCheckpointChannel(file: string): BroadcastChannel {
  const channel = new BroadcastChannel(`dynamic-assets:readmodels:${realpathSync(file)}`);
  channel.unref();
  return channel;
}

/** What a commit has reached, as it is announced. */
export type Reached = {
  /** Number of the file (`fileNumber`): another one may have taken its place. */
  readonly file: number | undefined;
  readonly checkpoints: Checkpoints;
  /** Events that are applied beyond the checkpoints. */
  readonly ahead: readonly Pick<OutOfOrder, 'projection' | 'position'>[];
  /** Parts that are parked, by `partOf`: what is behind their own checkpoints is passed over. */
  readonly parked: readonly string[];
};

/** What is stored, of a projection, about an event, about a tenant. */
export type StoredProgress = {
  readonly checkpoint: Position;
  readonly isAhead: boolean;
  readonly isParked: boolean;
};

/** For what another process commits, which is not announced here. */
const POLL_MS = 100;

type Wanted = {
  readonly projection: string;
  readonly position: Position;
  /** Whose events are waited for; undefined: nobody's in particular. */
  readonly tenant?: string | undefined;
  /** Nothing is waited for but this event, and what came before it in its stream. */
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
  /** What was announced last. */
  #heard: Reached | undefined;
  /** No event behind it was announced as applied beyond the checkpoints. */
  #furthestAhead = 0;

  /**
   * @param read what is stored at one moment
   * @param onOtherFile called when something was committed to another file than this one, which has taken its place
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

  /** @returns false when the position is not reached within `timeoutMs`, or before `close`, or is passed over for the tenant */
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
    const { checkpoints, ahead, parked } = reached;
    if (reached.file !== this.#file) {
      this.#onOtherFile();
      return;
    }
    this.#heard = reached;
    for (const { position } of ahead) this.#furthestAhead = Math.max(this.#furthestAhead, position);
    for (const waiter of [...this.#waiters]) {
      const { projection, position, tenant, alone } = waiter;
      const isReached =
        position <= (checkpoints.get(projection) ?? -1) ||
        (alone === true && ahead.some((each) => each.projection === projection && each.position === position));
      if (isReached) waiter.end(tenant === undefined || !parked.includes(parkedKey({ tenant, projection })));
    }
  }

  /** What is announced last says that it is not reached: there is no need to look at what is stored. */
  #isToCome({ projection, position }: Wanted): boolean {
    if (this.#heard === undefined) return false;
    const { checkpoints, parked } = this.#heard;
    return parked.length === 0 && position > Math.max(checkpoints.get(projection) ?? position, this.#furthestAhead);
  }

  #stored({ projection, position, tenant, alone }: Wanted): 'reached' | 'parked' | 'waiting' {
    const { checkpoint, isAhead, isParked } = this.#read(projection, position, tenant);
    if (alone === true && isAhead) return 'reached';
    if (isParked) return 'parked';
    return checkpoint >= position ? 'reached' : 'waiting';
  }

  close(): void {
    for (const waiter of [...this.#waiters]) waiter.end(false);
    clearInterval(this.#poll);
    this.#channel.close();
  }
}

/** Events read ahead of the projections' checkpoint, within limits, while earlier ones are applied. */
import type { LogAnchor, Position } from '../ports/eventStore.js';
import type { Step } from './steps.js';

/** Read-ahead limits: an event beyond them waits for earlier ones. */
const MAX_EVENTS = 2_000;
const MAX_WEIGHT = 50_000;

/** Positions without own events are committed at most this often, in milliseconds. */
const QUIET_MS = 200;

/** Without overtaking, a transaction takes slices until it has this many events or this weight. */
const BATCH_EVENTS = 500;
const BATCH_WEIGHT = 5_000;

/** Consecutive events of the log; `position` is how far the log was read for them. */
export type ReadSlice = {
  readonly steps: readonly Step[];
  readonly position: Position;
  readonly place: LogAnchor | undefined;
};

export type ReadAheadView = { readonly slices: readonly ReadSlice[]; readonly mark: number };

export class ReadAhead {
  readonly #slices: ReadSlice[] = [];
  readonly #signal: AbortSignal;
  #releasedTo: Position;
  #events = 0;
  #weight = 0;
  /** Number of slices added so far. */
  #added = 0;
  #onChange: (() => void)[] = [];
  /** The last slice read, if it has no events and is not added yet. */
  #empty: ReadSlice | undefined;
  #emptyAt = Number.NEGATIVE_INFINITY;

  /** @param after reading of the log begins after this position */
  constructor(after: Position, signal: AbortSignal) {
    this.#releasedTo = after;
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#notify());
  }

  /** Slices up to here were released: they cannot be applied again. */
  get releasedTo(): Position {
    return this.#releasedTo;
  }

  /** The current slices; `mark` is for `since`. */
  view(): ReadAheadView {
    return { slices: [...this.#slices], mark: this.#added };
  }

  get isEmpty(): boolean {
    return this.#slices.length === 0;
  }

  /** Whether another slice fits. A slice is never refused for its size, or reading would stop. */
  get hasRoom(): boolean {
    return this.#events < MAX_EVENTS && this.#weight < MAX_WEIGHT;
  }

  add(slice: ReadSlice): void {
    this.#empty = undefined;
    this.#slices.push(slice);
    this.#count(slice, 1);
    this.#added += 1;
    this.#notify();
  }

  /** Adds a slice without events, or a later one instead: each would be a commit that nobody waits for. */
  addEmpty(slice: ReadSlice): void {
    const wait = this.#emptyAt + QUIET_MS - performance.now();
    const isDue = this.#empty !== undefined;
    this.#empty = slice;
    if (wait <= 0) this.#addLastEmpty();
    else if (!isDue) setTimeout(() => this.#addLastEmpty(), wait).unref();
  }

  #addLastEmpty(): void {
    if (this.#empty === undefined) return;
    this.#emptyAt = performance.now();
    this.add(this.#empty);
  }

  /** Slices added after the view was taken, without those released. */
  since({ mark }: ReadAheadView): readonly ReadSlice[] {
    const count = Math.min(this.#added - mark, this.#slices.length);
    return count === 0 ? [] : this.#slices.slice(-count);
  }

  /** Releases the slices that the projections have passed. */
  release(checkpoint: Position): void {
    for (let [first] = this.#slices; first !== undefined && first.position <= checkpoint; [first] = this.#slices) {
      this.#slices.shift();
      this.#releasedTo = first.position;
      this.#count(first, -1);
    }
    this.#notify();
  }

  /** Resolves when a slice is added or released, or the signal aborts. */
  change(): Promise<void> {
    if (this.#signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onChange.push(resolve);
    });
  }

  #count({ steps }: ReadSlice, sign: 1 | -1): void {
    this.#events += sign * steps.length;
    for (const { weight } of steps) this.#weight += sign * weight;
  }

  #notify(): void {
    const waiting = this.#onChange;
    this.#onChange = [];
    for (const each of waiting) each();
  }
}

/** The slices that one transaction takes: at least one. */
export function firstOf(slices: readonly ReadSlice[]): readonly ReadSlice[] {
  let events = 0;
  let weight = 0;
  const enough = slices.findIndex(({ steps }) => {
    events += steps.length;
    for (const step of steps) weight += step.weight;
    return events >= BATCH_EVENTS || weight >= BATCH_WEIGHT;
  });
  return enough === -1 ? slices : slices.slice(0, enough + 1);
}

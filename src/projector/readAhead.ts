/** What was read of the log and is not behind the projections' checkpoint yet: read ahead, within limits, while events are applied. */
import type { LogAnchor, Position } from '../ports/eventStore.js';
import type { Step } from './step.js';

/** What is read ahead at most: who is behind so much waits for others after all. */
const MAX_EVENTS = 2_000;
const MAX_CHANGES = 50_000;

/** Where others' events come all the time, those that read past them commit that at most so often, in milliseconds. */
const QUIET_MS = 200;

/** Where nothing overtakes, a transaction takes slices until it has so many events, or changes. */
const TURN_EVENTS = 500;
const TURN_CHANGES = 5_000;

/** Events next to each other in the log; `position`: up to where it was read for them. */
export type ReadSlice = {
  readonly steps: readonly Step[];
  readonly position: Position;
  readonly place: LogAnchor | undefined;
};

export type ReadAheadView = { readonly slices: readonly ReadSlice[]; readonly mark: number };

export class ReadAhead {
  readonly #slices: ReadSlice[] = [];
  readonly #signal: AbortSignal;
  #passedTo: Position;
  #events = 0;
  #changes = 0;
  /** Counts what was added. */
  #added = 0;
  #onChange: (() => void)[] = [];
  /** What was read last and holds no event; not added yet. */
  #empty: ReadSlice | undefined;
  #emptyAt = Number.NEGATIVE_INFINITY;

  /** @param after where reading the log begins */
  constructor(after: Position, signal: AbortSignal) {
    this.#passedTo = after;
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#tell());
  }

  /** What was read up to here is let go of: it cannot be applied once more. */
  get passedTo(): Position {
    return this.#passedTo;
  }

  /** What there is now; `mark` is for `since`. */
  look(): ReadAheadView {
    return { slices: [...this.#slices], mark: this.#added };
  }

  get isEmpty(): boolean {
    return this.#slices.length === 0;
  }

  /** There is room for another slice. A slice is never refused for its size: else the log could not be read on. */
  get hasRoom(): boolean {
    return this.#events < MAX_EVENTS && this.#changes < MAX_CHANGES;
  }

  add(slice: ReadSlice): void {
    this.#empty = undefined;
    this.#slices.push(slice);
    this.#count(slice, 1);
    this.#added += 1;
    this.#tell();
  }

  /** Adds a slice without events, or the next one: each would be a commit that nobody waits for. */
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

  /** What was added after the look, as far as it is still there. */
  since({ mark }: ReadAheadView): readonly ReadSlice[] {
    const count = Math.min(this.#added - mark, this.#slices.length);
    return count === 0 ? [] : this.#slices.slice(-count);
  }

  /** Lets go of what the projections have passed. */
  passed(checkpoint: Position): void {
    for (let [first] = this.#slices; first !== undefined && first.position <= checkpoint; [first] = this.#slices) {
      this.#slices.shift();
      this.#passedTo = first.position;
      this.#count(first, -1);
    }
    this.#tell();
  }

  /** Resolves when something was added or let go, or the signal is aborted. */
  change(): Promise<void> {
    if (this.#signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onChange.push(resolve);
    });
  }

  #count({ steps }: ReadSlice, sign: 1 | -1): void {
    this.#events += sign * steps.length;
    for (const { changes } of steps) this.#changes += sign * changes;
  }

  #tell(): void {
    const told = this.#onChange;
    this.#onChange = [];
    for (const each of told) each();
  }
}

/** As many whole slices as one transaction takes, and at least one. */
export function firstOf(slices: readonly ReadSlice[]): readonly ReadSlice[] {
  let events = 0;
  let changes = 0;
  const enough = slices.findIndex(({ steps }) => {
    events += steps.length;
    for (const step of steps) changes += step.changes;
    return events >= TURN_EVENTS || changes >= TURN_CHANGES;
  });
  return enough === -1 ? slices : slices.slice(0, enough + 1);
}

/**
 * One tenant that is followed: its events that wait, and its turns, in which they become rows.
 *
 *     running ◀──▶ apart    its queue is full and it is read by itself, or it has caught up with the log
 *     running, apart ────── an event cannot be applied ─────▶ parked
 *     parked ────────────── a retry, or a start ────────────▶ apart
 *     any ───────────────── the tenant is deleted ──────────▶ gone
 *
 * Beside that, it has a mark that is stored with its rows: while it is `filling` its rows are not shown.
 */
import type { Position, RecordedEvent } from '../ports/eventStore.js';
import { type Parked, RowRefusedError, type RowWriter, type Slice } from '../ports/rowStore.js';
import { WakeUp } from '../supervision/waiting.js';
import { EventNotAppliedError } from './rows.js';

/** How long a turn of a tenant takes, in milliseconds: it ends with the slice that passes this. */
const TURN_MS = 5;

export type SlicesOf = (
  tenant: string,
  events: readonly RecordedEvent[],
  store: Pick<RowWriter, 'rows' | 'spaces'>,
) => AsyncIterable<Slice>;

export type CopyOptions = {
  readonly signal: AbortSignal;
  /** Positions of the log that are applied, and how many it will be. */
  readonly onProgress?: (done: Position, of: Position) => void;
  /** A parked tenant's copy goes beyond the event that parked it. */
  readonly toEnd?: boolean;
};

type TurnEnd = 'applied' | 'parked' | 'deleted';

type Beginning = {
  readonly position: Position;
  readonly mark?: 'filling' | Parked | undefined;
  readonly isApart?: boolean;
};

export class FollowedTenant {
  readonly name: string;
  position: Position;
  /** Events up to here are in the rows or wait: they are not offered again. */
  readTo: Position;
  /** It is not read with the others. */
  isApart: boolean;
  /** Stored with the rows. */
  mark: 'filling' | Parked | undefined;
  /** Why it stands still. Undefined during a retry, while the mark says how it was before. */
  parked: Parked | undefined;
  /** A mark is removed as soon as the rows are made up to here. */
  shownFrom: Position = Number.POSITIVE_INFINITY;
  isBusy = false;
  /** It has no turns, so that its rows stay as they are. */
  isSuspended = false;
  /** How often it has begun at another position: what was read for it before is not offered any more. */
  begun = 0;
  readonly turnEnded = new WakeUp();
  #events: RecordedEvent[] = [];
  #items = 0;
  #since: string | undefined;
  /** The rows themselves have said where they are. */
  #isFound = false;
  /** A clean-up of which a part is left. */
  #unfinished: Slice | undefined;
  /** Up to here, appends are applied one by one: the engine has refused several together. */
  #oneByOneTo: Position = 0;

  constructor(name: string, { position, mark, isApart = false }: Beginning) {
    this.name = name;
    this.position = position;
    this.readTo = position;
    this.mark = mark;
    this.isApart = isApart;
  }

  get next(): RecordedEvent | undefined {
    return this.#events[0];
  }

  /** What waits, in rows. */
  get items(): number {
    return this.#items;
  }

  /** When the oldest event was written that is not applied (ISO 8601). */
  get since(): string | undefined {
    return this.next?.metadata.occurredAt ?? this.#since;
  }

  get hasTurn(): boolean {
    if (this.isBusy) return false;
    return this.#unfinished !== undefined || (!this.isSuspended && this.next !== undefined);
  }

  get isWhole(): boolean {
    return !this.isBusy && this.#unfinished === undefined;
  }

  /** An event that is read already, or that a parked tenant has to wait with, is left out. */
  offer(event: RecordedEvent): void {
    if (event.position <= this.readTo) return;
    if (event.type === 'TenantDeleted') {
      this.parked = undefined;
      this.forgetWaiting();
    }
    if (this.parked !== undefined) return;
    this.#since ??= event.metadata.occurredAt;
    this.#events.push(event);
    this.#items += itemsIn(event);
  }

  /** Applies what waits for some milliseconds, or one slice, to the store or a copy. @throws what an engine throws */
  async turn(store: RowWriter, slicesOf: SlicesOf, onApplied: (position: Position) => void): Promise<TurnEnd> {
    const until = performance.now() + TURN_MS;
    const { begun } = this;
    let after = 0;
    const apply = async (slice: Slice): Promise<boolean> => {
      if (this.begun !== begun) return false;
      const isDone = await store.apply(this.name, { ...slice, after });
      if (this.begun !== begun) return false;
      this.#unfinished = isDone ? undefined : slice;
      if (!isDone) return false;
      after = slice.position;
      this.#moveTo(slice.position);
      onApplied(slice.position);
      return performance.now() < until;
    };
    this.isBusy = true;
    try {
      await this.find(store);
      after = this.position;
      if (this.#unfinished !== undefined && !(await apply(this.#unfinished))) return 'applied';
      while (this.next !== undefined && performance.now() < until) {
        if (this.next.type === 'TenantDeleted') return 'deleted';
        const events = this.next.position <= this.#oneByOneTo ? this.#firstAppend() : [...this.#events];
        for await (const slice of slicesOf(this.name, events, store)) {
          if (!(await apply(slice))) return 'applied';
        }
        if (this.begun !== begun) return 'applied';
        this.#moveTo(events.at(-1)?.position ?? 0);
      }
      return 'applied';
    } catch (error) {
      // Other rows have taken the place of those that the turn began with: what it read of them says nothing.
      if (this.begun !== begun || (await isBehind(store, this.name, after))) return 'applied';
      return this.#fail(error);
    } finally {
      this.isBusy = false;
    }
  }

  /** Rows may be made further than is known here: after a crash, or where a loss is told of that is over. */
  async find(store: Pick<RowWriter, 'progress'>): Promise<void> {
    if (this.#isFound) return;
    const { position = 0 } = (await store.progress(this.name)) ?? {};
    this.#moveTo(position);
    this.readTo = Math.max(this.readTo, position);
    this.#isFound = true;
  }

  #moveTo(position: Position): void {
    this.position = Math.max(position, this.position);
    const applied = this.#events.filter((event) => event.position <= position);
    this.#events = this.#events.slice(applied.length);
    this.#items -= applied.reduce((sum, event) => sum + itemsIn(event), 0);
    // What a tenant that is apart has yet to read is not known: it is younger.
    if (!this.isApart) this.#since = undefined;
    else this.#since = applied.at(-1)?.metadata.occurredAt ?? this.#since;
  }

  #firstAppend(): readonly RecordedEvent[] {
    return this.#events.filter(({ position }) => position === this.next?.position);
  }

  /** Only an event that cannot be applied parks the tenant. @throws any other error */
  #fail(error: unknown): TurnEnd {
    const isRefused = error instanceof RowRefusedError;
    const [first, last] = [this.#events[0], this.#events.at(-1)];
    if (isRefused && first && last && first.position !== last.position && first.position > this.#oneByOneTo) {
      this.#oneByOneTo = last.position;
      return 'applied';
    }
    const event = error instanceof EventNotAppliedError ? error.event : isRefused ? first : undefined;
    if (event === undefined || !(error instanceof Error)) throw error;
    const { position, id: eventId, type: eventType } = event;
    const before = typeof this.mark === 'object' && this.mark.position === position ? this.mark : undefined;
    const since = before?.since ?? new Date().toISOString();
    this.park({ position, eventId, eventType, error: error.message, since }, this.position);
    return 'parked';
  }

  /** @param position where its rows are */
  park(parked: Parked, position: Position): void {
    this.parked = parked;
    this.position = position;
    this.forgetWaiting();
  }

  /** Continues where it was parked, or begins once more at another position. It is read by itself from there. */
  restart(position: Position): void {
    this.parked = undefined;
    this.position = position;
    this.readTo = position;
    this.isApart = true;
    this.begun += 1;
    this.shownFrom = Number.POSITIVE_INFINITY;
    this.#isFound = false;
    this.forgetWaiting();
  }

  forgetWaiting(): void {
    this.#events = [];
    this.#items = 0;
    this.#since = undefined;
    this.#unfinished = undefined;
  }
}

async function isBehind(store: Pick<RowWriter, 'progress'>, tenant: string, position: Position): Promise<boolean> {
  return ((await store.progress(tenant))?.position ?? 0) < position;
}

/** Of ids that are packed into one text, and of long texts. */
const CHARACTERS_OF_ITEM = 200;

/** Roughly how many rows an event is about. */
function itemsIn({ data }: RecordedEvent): number {
  let items = 1;
  for (const value of Object.values(data ?? {})) {
    if (Array.isArray(value)) items += value.length;
    else if (typeof value === 'string') items += value.length / CHARACTERS_OF_ITEM;
  }
  return items;
}

/**
 * One transaction of the projector: chooses which of the events read ahead are applied in it. Events of a stream keep
 * their order, and a tenant's own events keep their place among all events of the tenant. Otherwise, if the engine records
 * what is applied out of order, short events may overtake long ones, and tenants take turns. Long events have a share of the
 * time while both wait.
 */
import { setImmediate as pause } from 'node:timers/promises';
import { parseStream } from '../domain/streams.js';
import type { Position, RecordedEvent } from '../ports/eventStore.js';
import type { Projection } from '../ports/projection.js';
import type { Parked } from '../ports/projectionProgress.js';
import type { ReadModelWriter } from '../ports/readModelWriter.js';
import { checkRoom, EventApplier, type Failures, lastBefore, parkedAt, tenantPartKey } from './applying.js';
import { reached, readCheckpoints, requireNotPutBack } from './checkpoints.js';
import { PIECE_WEIGHT, type Piece } from './eventPieces.js';
import { firstOf, type ReadAhead, type ReadAheadView, type ReadSlice } from './readAhead.js';
import { isOf, type Step } from './steps.js';

/** How long, in milliseconds, a long event runs while another tenant's long event waits. */
const LONG_RUN_MS = 50;
/** The same while none waits: then it commits, so that writers of other processes get in. */
const LONGEST_RUN_MS = 1_000;
/** Percent of the time that long events have while short ones wait as well: they may never end. */
const LONG_PERCENT = 50;
/** The most, in milliseconds, by which long events may be behind their share, or ahead of it. */
const MAX_OWED_MS = 50;
/** The weight of short events in one transaction while those of several tenants wait. */
const SHORT_WEIGHT = 500;

export type BatchDeps = {
  readonly writer: ReadModelWriter;
  readonly projections: readonly Projection[];
  readonly readAhead: ReadAhead;
};

type Begun = { readonly step: Step; readonly pieces: readonly Piece[] };

/** State of long events that is kept from batch to batch, as long as each commits. */
export type LongEvents = {
  /** Pieces of events in progress, by `workKey`: they hold how far a clean-up has come. */
  readonly begun: ReadonlyMap<string, Begun>;
  /** When a long event of a tenant was applied last, on the clock of `performance.now()`. */
  readonly lastAt: ReadonlyMap<string, number>;
  /** How far long events are behind their share of the time, in milliseconds; negative if they are ahead. */
  readonly owedMs: number;
  /** The time up to which `owedMs` counts, on the same clock; undefined if none has waited. */
  readonly countedTo: number | undefined;
};

export const NO_LONG_EVENTS: LongEvents = { begun: new Map(), lastAt: new Map(), owedMs: 0, countedTo: undefined };

/** An event to be applied to one projection. */
type Work = { readonly projection: Projection; readonly step: Step };

/** The stored state at the start of the transaction. */
type StoredState = {
  readonly checkpoints: ReadonlyMap<string, Position>;
  readonly parked: readonly Parked[];
  /** By `tenantPartKey`. */
  readonly parkedParts: ReadonlySet<string>;
  /** How many pieces of an event are applied out of order, or null for all, by `workKey`. */
  readonly outOfOrder: ReadonlyMap<string, number | null>;
};

/** Progress is stored by position, so events that share one are applied in one transaction, and none of them in pieces. */
const isLong = ({ weight, sharesPosition }: Step): boolean => weight > PIECE_WEIGHT && !sharesPosition;

const workKey = (projection: string, position: Position): string => `${projection} ${position}`;

export class ProjectionBatch {
  readonly #parts: BatchDeps;
  readonly #slices: readonly ReadSlice[];
  readonly #steps: readonly Step[];
  readonly #failures: Failures;
  readonly #stored: StoredState;
  readonly #applying: EventApplier;
  readonly #view: ReadAheadView;
  readonly #overtakes: boolean;
  readonly #order = new StreamOrder();
  readonly #waiting = new Set<Step>();
  readonly #applied: Work[] = [];
  /** Of short events that are applied. */
  readonly #begunPositions = new Set<Position>();
  /** Parked parts whose tenant was deleted. */
  readonly #deletedParts = new Set<string>();
  readonly #begun: Map<string, Begun>;
  readonly #lastAt: Map<string, number>;
  #owedMs: number;
  #countedTo: number | undefined;
  /** The weight of short events for which there is still room. */
  #room: number;

  private constructor(
    parts: BatchDeps,
    view: ReadAheadView,
    {
      failures,
      stored,
      overtakes,
    }: { readonly failures: Failures; readonly stored: StoredState; readonly overtakes: boolean },
    before: LongEvents,
  ) {
    this.#begun = new Map(before.begun);
    this.#lastAt = new Map(before.lastAt);
    this.#owedMs = before.owedMs;
    this.#countedTo = before.countedTo;
    this.#parts = parts;
    this.#view = view;
    this.#slices = overtakes ? view.slices : firstOf(view.slices);
    this.#steps = this.#slices.flatMap(({ steps }) => steps);
    this.#failures = failures;
    this.#stored = stored;
    this.#overtakes = overtakes;
    this.#room = overtakes ? SHORT_WEIGHT : Number.POSITIVE_INFINITY;
    this.#applying = new EventApplier(parts.writer);
  }

  /**
   * Call it inside the transaction: another process may project the same log, and a rebuild may have swapped.
   * @throws PutBackError
   * @param failures events that are left out with the later ones of their parts, which are parked
   * @param before left over from the previous batch
   */
  static async begin(
    parts: BatchDeps,
    view: ReadAheadView,
    failures: Failures,
    before: LongEvents,
  ): Promise<ProjectionBatch> {
    const { writer, projections, readAhead } = parts;
    const checkpoints = await readCheckpoints(writer, projections);
    requireNotPutBack(checkpoints, readAhead.releasedTo);
    const parked = await writer.parked();
    checkRoom(parked, failures);
    const outOfOrder = (await writer.outOfOrder()).map(
      ({ projection, position, pieces }) => [workKey(projection, position), pieces] as const,
    );
    const overtakes = writer.stepwise !== undefined && mustShare(view) && (await writer.stepwise.mayOvertake());
    const parkedParts = new Set(parked.map(({ projection, tenant }) => tenantPartKey(projection, tenant)));
    const stored = { checkpoints, parked, parkedParts, outOfOrder: new Map(outOfOrder) };
    return new ProjectionBatch(parts, view, { failures, stored, overtakes }, before);
  }

  /**
   * Applies short events; if there are none, or long events are owed time, also a share of one long event.
   * @returns the checkpoints to commit
   */
  async apply(): Promise<ReadonlyMap<string, Position>> {
    const long: Work[] = [];
    for (const step of this.#overtakes ? inTurns(this.#steps) : this.#steps) {
      const hasRoom = this.#room > 0 || (step.sharesPosition && this.#begunPositions.has(step.event.position));
      // Records, the first projection, are the last: a caller that waits for the records of an event then reads its history.
      for (const projection of this.#parts.projections.toReversed())
        await this.#applyTo({ projection, step }, long, hasRoom);
      if (this.#waiting.has(step)) this.#order.add(step);
    }
    this.#countOwed(long.length > 0);
    const next = this.#nextOf(long);
    if (next !== undefined && (this.#applied.length === 0 || this.#owedMs > 0)) await this.#applyLong(next, long);
    await this.#park();
    return this.#reached();
  }

  /** All time that a long event has waited counts, commits as well. */
  #countOwed(isAnyLong: boolean): void {
    const now = performance.now();
    const waitedMs = now - (this.#countedTo ?? now);
    const owedMs = this.#owedMs + (waitedMs * LONG_PERCENT) / (100 - LONG_PERCENT);
    this.#owedMs = isAnyLong ? Math.min(MAX_OWED_MS, owedMs) : 0;
    this.#countedTo = isAnyLong ? now : undefined;
  }

  /** The first long event of the tenant that has waited longest since its last turn. */
  #nextOf(long: readonly Work[]): Work | undefined {
    const lastAt = ({ step }: Work): number => this.#lastAt.get(step.tenant) ?? Number.NEGATIVE_INFINITY;
    const [first, ...others] = long;
    return first && others.reduce((next, each) => (lastAt(each) < lastAt(next) ? each : next), first);
  }

  async #applyTo(work: Work, long: Work[], hasRoom: boolean): Promise<void> {
    const { projection, step } = work;
    const { event } = step;
    if ((this.#stored.checkpoints.get(projection.name) ?? 0) >= event.position || !isOf(projection, step)) return;
    const done = this.#stored.outOfOrder.get(workKey(projection.name, event.position));
    if (done === null) return;
    const part = tenantPartKey(projection.name, step.tenant);
    const isSkipped = this.#isSkipped(part, event.position);
    if (isSkipped && event.type !== 'TenantDeleted') return;
    if (this.#order.mustWait(step)) {
      this.#waiting.add(step);
    } else if (this.#overtakes && isLong(step)) {
      this.#waiting.add(step);
      long.push(work);
    } else if (!hasRoom) {
      this.#waiting.add(step);
    } else {
      if (done === undefined) await this.#applying.apply(projection, step);
      else await this.#applying.applyRest(projection, step, done);
      this.#applied.push(work);
      this.#room -= step.weight;
      this.#begunPositions.add(step.event.position);
      if (isSkipped) this.#deletedParts.add(part);
    }
  }

  #isSkipped(part: string, position: Position): boolean {
    const failure = this.#failures.get(part);
    return (failure !== undefined && position >= failure.event.position) || this.#stored.parkedParts.has(part);
  }

  /** Runs until the event is done, or others are due: short events have the time that is not owed to long ones. */
  async #applyLong(work: Work, long: readonly Work[]): Promise<void> {
    const { projection, step } = work;
    const { position } = step.event;
    const startedAt = performance.now();
    const isOthers = long.some((each) => each.step.tenant !== step.tenant);
    /** Since when a short event has waited for it, or gone before it. */
    let sharedAt = this.#applied.length > 0 ? startedAt : undefined;
    const key = workKey(projection.name, position);
    const pieces = this.#begun.get(key)?.pieces ?? (await this.#applying.pieces(projection, step));
    let done = this.#stored.outOfOrder.get(key) ?? 0;
    for (;;) {
      const piece = pieces[done];
      if (piece === undefined) break;
      if ((await this.#applying.applyPiece(projection, step, piece)) === 'done') done += 1;
      await pause();
      const now = performance.now();
      if (sharedAt === undefined && this.#hasShort()) sharedAt = now;
      const isShareOver = sharedAt !== undefined && now - sharedAt >= this.#owedMs;
      if (isShareOver || now - startedAt > (isOthers ? LONG_RUN_MS : LONGEST_RUN_MS)) break;
    }
    const endedAt = performance.now();
    if (sharedAt !== undefined) this.#owedMs = Math.max(-MAX_OWED_MS, this.#owedMs - (endedAt - sharedAt));
    this.#countedTo = endedAt;
    this.#lastAt.set(step.tenant, endedAt);
    if (done === pieces.length) {
      this.#applied.push(work);
      this.#begun.delete(key);
      // It may be long for another projection as well.
      if (!long.some((each) => each !== work && each.step === step)) this.#waiting.delete(step);
    } else {
      this.#begun.set(key, { step, pieces });
      const outOfOrder = { projection: projection.name, tenant: step.tenant, position, pieces: done };
      await this.#parts.writer.stepwise?.putOutOfOrder(outOfOrder);
    }
  }

  /** Whether a short event arrived that need not wait. */
  #hasShort(): boolean {
    const arrived = this.#parts.readAhead.since(this.#view).flatMap(({ steps }) => steps);
    return arrived.some((step) => !isLong(step) && !this.#order.mustWait(step));
  }

  async #park(): Promise<void> {
    const { writer } = this.#parts;
    for (const each of this.parked) await writer.park(each);
    for (const each of this.#stored.parked) {
      if (this.#deletedParts.has(tenantPartKey(each.projection, each.tenant))) await writer.unpark(each);
    }
  }

  /** Parts that this batch parks. */
  get parked(): readonly Parked[] {
    const { checkpoints } = this.#stored;
    return [...this.#failures.values()]
      .map((failure) =>
        parkedAt(
          failure,
          lastBefore(failure, this.#steps, checkpoints, (step) => this.#waiting.has(step)),
        ),
      )
      .filter(({ projection, tenant }) => !this.#deletedParts.has(tenantPartKey(projection, tenant)));
  }

  /** Includes parts that this batch releases. */
  get isAnyParked(): boolean {
    return this.#stored.parked.length + this.#failures.size > 0;
  }

  /** Events that were applied completely, or were parked. */
  get events(): readonly RecordedEvent[] {
    const applied = this.#applied.map(({ step }) => step.event);
    return [...new Set([...applied, ...[...this.#failures.values()].map(({ event }) => event)])];
  }

  /** For the next batch. */
  get longEvents(): LongEvents {
    const begun = new Map([...this.#begun].filter(([, { step }]) => this.#waiting.has(step)));
    const waiting = new Set([...this.#waiting].map(({ tenant }) => tenant));
    const lastAt = new Map([...this.#lastAt].filter(([tenant]) => waiting.has(tenant)));
    return { begun, lastAt, owedMs: this.#owedMs, countedTo: this.#countedTo };
  }

  /** Everything up to here is applied. */
  get position(): Position {
    const first = this.#slices.findIndex(({ steps }) => steps.some((step) => this.#waiting.has(step)));
    return (first === -1 ? this.#slices.at(-1) : this.#slices[first - 1])?.position ?? 0;
  }

  async #reached(): Promise<ReadonlyMap<string, Position>> {
    const { position } = this;
    for (const { projection, step } of this.#applied) {
      if (step.event.position <= position) continue;
      const of = { projection: projection.name, tenant: step.tenant, position: step.event.position };
      await this.#parts.writer.stepwise?.putOutOfOrder({ ...of, pieces: null });
    }
    return reached(this.#stored.checkpoints, this.#parts.projections, position);
  }
}

/** Whether events have to go between others: there are long ones, or many of several tenants. */
function mustShare({ slices }: ReadAheadView): boolean {
  const steps = slices.flatMap((slice) => slice.steps);
  if (steps.some(isLong)) return true;
  const weight = steps.reduce((sum, step) => sum + step.weight, 0);
  return weight > SHORT_WEIGHT && steps.some(({ tenant }) => tenant !== steps[0]?.tenant);
}

/** The same events, with those of each tenant in their order: its first one, its second one and so on, in turn with others. */
function inTurns(steps: readonly Step[]): readonly Step[] {
  const turns: Step[][] = [];
  const counts = new Map<string, number>();
  for (const step of steps) {
    const turn = counts.get(step.tenant) ?? 0;
    counts.set(step.tenant, turn + 1);
    const together = turns[turn];
    if (together === undefined) turns.push([step]);
    else together.push(step);
  }
  return turns.flat();
}

/** Tells which events must wait to keep the order of their stream, and that of a tenant's own events. */
class StreamOrder {
  readonly #streams = new Set<string>();
  /** Tenants with waiting events, and whether one of the tenant's own is among them. */
  readonly #tenants = new Map<string, boolean>();

  /** Adds an event that was not applied. */
  add({ event, tenant }: Step): void {
    this.#streams.add(event.stream);
    this.#tenants.set(tenant, this.#tenants.get(tenant) === true || isOfTenant(event.stream));
  }

  mustWait({ event, tenant }: Step): boolean {
    const own = this.#tenants.get(tenant);
    return own === true || (own === false && isOfTenant(event.stream)) || this.#streams.has(event.stream);
  }
}

const isOfTenant = (stream: string): boolean => parseStream(stream).category === 'tenant';

/**
 * One transaction of the projector: chooses which of the events read ahead are applied in it. Events of a stream keep
 * their order, and a tenant's own events keep their place among all events of the tenant. Otherwise short events may
 * overtake long ones, if the engine records what is applied out of order.
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
/** How long, in milliseconds, a long event waits for short ones, which may never end. */
const LONG_WAIT_MS = 20;

export type BatchDeps = {
  readonly writer: ReadModelWriter;
  readonly projections: readonly Projection[];
  readonly readAhead: ReadAhead;
};

/** State of long events that is kept from batch to batch, as long as each commits. */
export type LongEvents = {
  /** Pieces of events in progress: they hold how far a clean-up has come. */
  readonly begun: ReadonlyMap<Step, readonly Piece[]>;
  /** The tenant whose long event was applied last. */
  readonly lastOf: string | undefined;
  /** When that was, on the clock of `performance.now()`; undefined if none has waited. */
  readonly lastAt: number | undefined;
};

export const NO_LONG_EVENTS: LongEvents = { begun: new Map(), lastOf: undefined, lastAt: undefined };

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

const isLong = ({ weight }: Step): boolean => weight > PIECE_WEIGHT;

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
  /** Parked parts whose tenant was deleted. */
  readonly #deletedParts = new Set<string>();
  readonly #before: LongEvents;
  readonly #begun: Map<Step, readonly Piece[]>;
  #lastOf: string | undefined;
  #lastAt: number | undefined;

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
    this.#before = before;
    this.#begun = new Map(before.begun);
    this.#lastOf = before.lastOf;
    this.#lastAt = before.lastAt;
    this.#parts = parts;
    this.#view = view;
    this.#slices = overtakes ? view.slices : firstOf(view.slices);
    this.#steps = this.#slices.flatMap(({ steps }) => steps);
    this.#failures = failures;
    this.#stored = stored;
    this.#overtakes = overtakes;
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
    const isAnyLong = view.slices.some(({ steps }) => steps.some(isLong));
    const overtakes = isAnyLong && writer.stepwise !== undefined && (await writer.stepwise.mayOvertake());
    const parkedParts = new Set(parked.map(({ projection, tenant }) => tenantPartKey(projection, tenant)));
    const stored = { checkpoints, parked, parkedParts, outOfOrder: new Map(outOfOrder) };
    return new ProjectionBatch(parts, view, { failures, stored, overtakes }, before);
  }

  /**
   * Applies the short events; if there are none, or its turn is due, also a share of one long event.
   * @returns the checkpoints to commit
   */
  async apply(): Promise<ReadonlyMap<string, Position>> {
    const long: Work[] = [];
    for (const step of this.#steps) {
      for (const projection of this.#parts.projections) await this.#applyTo(projection, step, long);
      if (this.#waiting.has(step)) this.#order.add(step);
    }
    const next = long.find(({ step }) => step.tenant !== this.#before.lastOf) ?? long[0];
    if (next === undefined) this.#lastAt = undefined;
    else if (this.#applied.length === 0 || performance.now() - this.#waitingSince() > LONG_WAIT_MS) {
      await this.#applyLong(next, long);
    }
    await this.#park();
    return this.#reached();
  }

  /** Since when long events have waited. */
  #waitingSince(): number {
    this.#lastAt ??= performance.now();
    return this.#lastAt;
  }

  async #applyTo(projection: Projection, step: Step, long: Work[]): Promise<void> {
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
      long.push({ projection, step });
    } else {
      if (done === undefined) await this.#applying.apply(projection, step);
      else await this.#applying.applyRest(projection, step, done);
      this.#applied.push({ projection, step });
      if (isSkipped) this.#deletedParts.add(part);
    }
  }

  #isSkipped(part: string, position: Position): boolean {
    const failure = this.#failures.get(part);
    return (failure !== undefined && position >= failure.event.position) || this.#stored.parkedParts.has(part);
  }

  /** Runs until the event is done, or others are due. */
  async #applyLong(work: Work, long: readonly Work[]): Promise<void> {
    const { projection, step } = work;
    const { position } = step.event;
    const startedAt = performance.now();
    const isOthers = long.some((each) => each.step.tenant !== step.tenant);
    const isShortDone = this.#applied.length > 0;
    const pieces = this.#begun.get(step) ?? (await this.#applying.pieces(projection, step));
    let done = this.#stored.outOfOrder.get(workKey(projection.name, position)) ?? 0;
    for (;;) {
      const piece = pieces[done];
      if (piece === undefined) break;
      if ((await this.#applying.applyPiece(projection, step, piece)) === 'done') done += 1;
      await pause();
      const isOver = performance.now() - startedAt > (isOthers ? LONG_RUN_MS : LONGEST_RUN_MS);
      if (isShortDone || isOver || this.#hasShort()) break;
    }
    this.#lastOf = step.tenant;
    this.#lastAt = performance.now();
    if (done === pieces.length) {
      this.#applied.push(work);
      this.#waiting.delete(step);
    } else {
      this.#begun.set(step, pieces);
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
    const begun = new Map([...this.#begun].filter(([step]) => this.#waiting.has(step)));
    return { begun, lastOf: this.#lastOf, lastAt: this.#lastAt };
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

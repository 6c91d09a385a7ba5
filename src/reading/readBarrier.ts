/**
 * Stands between reads and the read models. A read waits for answered writes to its subject that are not shown yet, and is
 * refused while the read models do not match the log: while they are filled, parked or too stale. `admit` decides both.
 */
import { ReadModelsWithheldError } from '../ports/readModels.js';
import type { RebuildScope } from '../ports/readModelWriter.js';
import {
  interceptReads,
  READ_METHODS,
  type Read,
  type ReadMethod,
  type ReadModels,
  type ReadSubject,
  type Reads,
} from '../ports/readSide.js';
import type { LaneGate } from './laneGate.js';
import { ORDERS, PendingWrites } from './pendingWrites.js';
import { laneOf } from './readLanes.js';
import type { Behind } from './staleness.js';

/** Set where writes are answered before they are shown. */
export type AnsweredEarly = {
  /** A read waits at most this long for a write, counted from the write's answer. */
  readonly longestReadMs: number;
  /** Which writes a read of the table waits for; see `waitScopeOf`. */
  readonly scopeOf: (tenant: string, table: string) => string;
};

export class ReadBarrier {
  readonly #lanes: readonly LaneGate[];
  readonly #scopeOf: AnsweredEarly['scopeOf'];
  /** Undefined where each write's own answer waits. */
  readonly pendingWrites: PendingWrites | undefined;

  /** @param lanes in their order */
  constructor(lanes: readonly LaneGate[], answeredEarly?: AnsweredEarly) {
    this.#lanes = lanes;
    this.#scopeOf = answeredEarly?.scopeOf ?? (() => ORDERS);
    this.pendingWrites =
      answeredEarly && new PendingWrites(answeredEarly.longestReadMs, (tenant) => this.isCurrent(tenant));
  }

  /**
   * Whether, and from when, a read may be answered.
   * @param waits whether it waits for pending writes to its subject
   * @returns undefined: now; otherwise resolves when it may be answered, and rejects with ReadModelsWithheldError if it is
   *   refused, or with an engine's error
   */
  admit(projection: RebuildScope['projection'], subject: ReadSubject, waits: boolean): Promise<void> | undefined {
    const shown = waits ? this.#untilShown(subject) : undefined;
    if (shown !== undefined) return shown.then(() => this.admit(projection, subject, false));
    return this.#isOpen(subject) ? undefined : this.#requireAnswers(projection, subject);
  }

  #isOpen({ tenant }: ReadSubject): boolean {
    return tenant === undefined ? this.#lanes.every((lane) => lane.isOpen()) : laneOf(this.#lanes, tenant).isOpen();
  }

  /** @throws ReadModelsWithheldError with the first reason */
  async #requireAnswers(projection: RebuildScope['projection'], { tenant }: ReadSubject): Promise<void> {
    const lanes = this.#lanesOf(tenant);
    const reasons = await Promise.all(lanes.map((lane) => lane.refusal(projection, tenant)));
    const reason = reasons.find((each) => each !== undefined);
    if (reason !== undefined) throw new ReadModelsWithheldError(reason);
  }

  #lanesOf(tenant: string | undefined): readonly LaneGate[] {
    return tenant === undefined ? this.#lanes : [laneOf(this.#lanes, tenant)];
  }

  #untilShown({ tenant, table }: ReadSubject): Promise<void> | undefined {
    if (tenant === undefined || this.pendingWrites?.isPending(tenant) !== true) return undefined;
    return this.pendingWrites.untilShown(tenant, table === undefined ? ORDERS : this.#scopeOf(tenant, table));
  }

  /** The read models behind this barrier. */
  guard(models: ReadModels): ReadModels {
    const reads: Reads = models;
    const waited = (projection: string, tenant: string | undefined, wait: () => Promise<boolean>) =>
      this.#waitFor(projection, tenant, wait);
    return {
      ...interceptReads(<Method extends ReadMethod>(method: Method): Read<Method> => {
        const { projection, subjectOf, waits = false } = READ_METHODS[method];
        const read: Read<Method> = reads[method];
        if (projection === undefined) return read;
        return async (...args) => {
          const subject = subjectOf(...args);
          const admitted = this.admit(projection, subject, waits);
          if (admitted !== undefined) await admitted;
          const answer = await read(...args);
          // The read model may have been reset during a long read.
          const isStill = this.admit(projection, subject, false);
          if (isStill !== undefined) await isStill;
          return answer;
        };
      }),
      waitFor: (...args) => waited(args[0], args[3], () => models.waitFor(...args)),
      waitForEvent: (...args) => waited(args[0], args[3], () => models.waitForEvent(...args)),
      close: () => models.close(),
    };
  }

  #waitFor(projection: string, tenant: string | undefined, wait: () => Promise<boolean>): Promise<boolean> {
    return this.#lanesOf(tenant).reduce((inner, lane) => () => lane.waitFor(projection, tenant, inner), wait)();
  }

  /** How stale the tenant was at its last read, in whole seconds; 0 while it is current. */
  staleness(tenant: string): number {
    return laneOf(this.#lanes, tenant).staleness(tenant);
  }

  /** By the last check: the tenant's records are running, and not notably stale. */
  isCurrent(tenant: string): boolean {
    return laneOf(this.#lanes, tenant).isCurrent(tenant);
  }

  /** Why no read is answered at all; undefined while reads are answered. @throws what an engine throws */
  async withheld(): Promise<string | undefined> {
    return (await Promise.all(this.#lanes.map((lane) => lane.withheld()))).find((reason) => reason !== undefined);
  }

  /** Tenants that are behind; undefined if none is. @throws what an engine throws */
  async behind(): Promise<Behind | undefined> {
    const found = (await Promise.all(this.#lanes.map((lane) => lane.behind()))).filter((each) => each !== undefined);
    if (found.length === 0) return undefined;
    return {
      names: found.flatMap(({ names }) => names).sort(),
      isAll: found.every(({ isAll }) => isAll),
      seconds: Math.max(...found.map(({ seconds }) => seconds)),
    };
  }
}

/**
 * Stands between reads and the read models. A read waits for answered writes to its subject that are not shown yet, of this
 * process or of other machines, and is refused while the read models do not match the log: while they are filled, parked or too stale. `admit` decides both.
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
import type { OthersWrites } from './othersWrites.js';
import { ORDERS, PendingWrites } from './pendingWrites.js';
import type { ReadGate } from './readGate.js';
import type { Behind } from './staleness.js';

export type WaitRule = {
  /** A read waits at most this long for a write, counted from the write's answer. */
  readonly longestReadMs: number;
  /** Which writes a read of the table waits for; see `waitScopeOf`. */
  readonly scopeOf: (tenant: string, table: string) => string;
};

/** What reads wait for. */
export type UnshownWrites = Pick<PendingWrites, 'isPending' | 'untilShown' | 'requireShown' | 'isLate'> &
  Partial<Pick<OthersWrites, 'lastOf'>>;

export class ReadBarrier {
  readonly #gate: ReadGate;
  readonly #scopeOf: WaitRule['scopeOf'];
  /** Undefined where each write's own answer waits. */
  readonly pendingWrites: PendingWrites | undefined;
  /** Set where other machines have read models of their own. */
  readonly othersWrites: OthersWrites | undefined;

  /**
   * @param rule set where writes are answered before reads show them: by this process, or by those of `othersWrites`
   */
  constructor(gate: ReadGate, rule?: WaitRule, othersWrites?: OthersWrites) {
    this.#gate = gate;
    this.#scopeOf = rule?.scopeOf ?? (() => ORDERS);
    this.othersWrites = othersWrites;
    const isEarly = rule !== undefined && othersWrites === undefined;
    this.pendingWrites = isEarly
      ? new PendingWrites(rule.longestReadMs, (tenant) => gate.isCurrent(tenant))
      : undefined;
  }

  get unshown(): UnshownWrites | undefined {
    return this.pendingWrites ?? this.othersWrites;
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
    return this.#gate.isOpen() ? undefined : this.#requireAnswers(projection, subject);
  }

  /** @throws ReadModelsWithheldError */
  async #requireAnswers(projection: RebuildScope['projection'], { tenant }: ReadSubject): Promise<void> {
    const reason = await this.#gate.refusal(projection, tenant);
    if (reason !== undefined) throw new ReadModelsWithheldError(reason);
  }

  #untilShown({ tenant, table }: ReadSubject): Promise<void> | undefined {
    const { unshown } = this;
    if (tenant === undefined || unshown?.isPending(tenant) !== true) return undefined;
    return unshown.untilShown(tenant, table === undefined ? ORDERS : this.#scopeOf(tenant, table));
  }

  /** The read models behind this barrier. */
  guard(models: ReadModels): ReadModels {
    const reads: Reads = models;
    return {
      ...interceptReads(<Method extends ReadMethod>(method: Method): Read<Method> => {
        const { projection, subjectOf, waits: isShownToAll = false } = READ_METHODS[method];
        // Decisions know the pending writes of this process alone.
        const waits = isShownToAll || (this.othersWrites !== undefined && projection === 'records');
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
      ...this.#gate.waitsOf(models),
      close: () => models.close(),
    };
  }

  /** How stale the tenant was at its last read, in whole seconds; 0 while it is current. */
  staleness(tenant: string): number {
    return this.#gate.staleness(tenant);
  }

  /** Why no read is answered at all; undefined while reads are answered. @throws what an engine throws */
  withheld(): Promise<string | undefined> {
    return this.#gate.withheld();
  }

  /** Tenants that are behind; undefined if none is. @throws what an engine throws */
  behind(): Promise<Behind | undefined> {
    return this.#gate.behind();
  }
}

/**
 * Stands between reads and the read models: a read is refused while they do not match the log, as they are filled, parked or
 * too stale.
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
import type { ReadGate } from './readGate.js';
import type { Behind } from './staleness.js';

export class ReadBarrier {
  readonly #gate: ReadGate;

  constructor(gate: ReadGate) {
    this.#gate = gate;
  }

  /** @returns undefined: the read may be answered. @throws ReadModelsWithheldError; what an engine throws */
  admit(projection: RebuildScope['projection'], subject: ReadSubject): Promise<void> | undefined {
    return this.#gate.isOpen() ? undefined : this.#requireAnswers(projection, subject);
  }

  /** @throws ReadModelsWithheldError */
  async #requireAnswers(projection: RebuildScope['projection'], { tenant }: ReadSubject): Promise<void> {
    const reason = await this.#gate.refusal(projection, tenant);
    if (reason !== undefined) throw new ReadModelsWithheldError(reason);
  }

  /** The read models behind this barrier. */
  guard(models: ReadModels): ReadModels {
    const reads: Reads = models;
    return {
      ...interceptReads(<Method extends ReadMethod>(method: Method): Read<Method> => {
        const { projection, subjectOf } = READ_METHODS[method];
        const read: Read<Method> = reads[method];
        if (projection === undefined) return read;
        return async (...args) => {
          const subject = subjectOf(...args);
          const admitted = this.admit(projection, subject);
          if (admitted !== undefined) await admitted;
          const answer = await read(...args);
          // The read model may have been reset during a long read.
          const isStill = this.admit(projection, subject);
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

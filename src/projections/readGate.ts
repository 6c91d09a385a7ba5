/** Whether the read models may be read: not while they show less, or something else, than the log holds. */
import type { EventStore } from '../ports/eventStore.js';
import { type ProjectionProgress, ReadModelsWithheldError } from '../ports/readModels.js';
import type { ReadModels } from '../ports/readSide.js';
import { findLog, projectedPlace } from './keptPlace.js';
import { projections } from './projections.js';

/** Beside the checkpoints: while a projection stands before this position, it is being built anew. */
export const WHOLE_FROM = 'whole-from';

/** At most so old, in milliseconds, is what the gate goes by. */
export const GATE_LOOKS_MS = 1_000;

const OTHER_LOG =
  "They were made of another event log than the service has. /health/ready and the service's log say more.";
const PUT_BACK = 'The event log was put back to an older copy.';

type Look = { readonly at: number; readonly reason: Promise<string | undefined> };

export class ReadGate {
  readonly #eventStore: Pick<EventStore, 'identity' | 'holds'>;
  readonly #progress: Pick<ProjectionProgress, 'checkpoint' | 'place'>;
  /** The log was found to be that of the read models, once: from then on, whoever finds out otherwise marks them. */
  #isOfLog = false;
  #look: Look | undefined;
  /** Reads that begin before pass without a wait: on the clock of `performance.now()`. */
  #isOpenUntil = 0;

  constructor(
    eventStore: Pick<EventStore, 'identity' | 'holds'>,
    progress: Pick<ProjectionProgress, 'checkpoint' | 'place'>,
  ) {
    this.#eventStore = eventStore;
    this.#progress = progress;
  }

  /** Why nothing is read, in sentences for callers; undefined while reads are answered. @throws what an engine throws */
  async withheld(): Promise<string | undefined> {
    const now = performance.now();
    if (this.#look === undefined || now - this.#look.at > GATE_LOOKS_MS) {
      this.#look = { at: now, reason: this.#reason() };
      this.#look.reason.then(
        (reason) => {
          this.#isOpenUntil = reason === undefined ? now + GATE_LOOKS_MS : 0;
        },
        // An engine that is away is asked again by the next.
        () => {
          this.#look = undefined;
        },
      );
    }
    return this.#look.reason;
  }

  /** The read models, as far as they may be read. */
  guard(readModels: ReadModels): ReadModels {
    const guarded =
      <Asked extends unknown[], Answer>(read: (...asked: Asked) => Promise<Answer>) =>
      async (...asked: Asked): Promise<Answer> => {
        if (performance.now() > this.#isOpenUntil) await this.#pass();
        const answer = await read(...asked);
        // It may have been thrown away under a long reading.
        if (performance.now() > this.#isOpenUntil) await this.#pass();
        return answer;
      };
    return {
      ...readModels,
      get: guarded(readModels.get),
      list: guarded(readModels.list),
      history: guarded(readModels.history),
      snapshot: guarded(readModels.snapshot),
      countOutsideBatch: guarded(readModels.countOutsideBatch),
      find: guarded(readModels.find),
      delivery: guarded(readModels.delivery),
      deliveries: guarded(readModels.deliveries),
      deliveryBacklog: guarded(readModels.deliveryBacklog),
      webhookHealth: guarded(readModels.webhookHealth),
      // Nobody waits for what takes as long as it takes.
      waitFor: async (...asked) => (await this.withheld()) === undefined && readModels.waitFor(...asked),
    };
  }

  /** @throws ReadModelsWithheldError */
  async #pass(): Promise<void> {
    const reason = await this.withheld();
    if (reason !== undefined) throw new ReadModelsWithheldError(reason);
  }

  async #reason(): Promise<string | undefined> {
    if (!this.#isOfLog) {
      const found = await findLog(this.#eventStore, await projectedPlace(this.#progress, projections));
      if (found === 'other') return `The read models are not shown. ${OTHER_LOG}`;
      if (found === 'put back') return `The read models are built anew. ${PUT_BACK}`;
      this.#isOfLog = true;
    }
    const wholeFrom = await this.#progress.checkpoint(WHOLE_FROM);
    if (wholeFrom === 0) return undefined;
    const positions = await Promise.all(projections.map(({ name }) => this.#progress.checkpoint(name)));
    const furthest = Math.min(...positions);
    return furthest >= wholeFrom
      ? undefined
      : `The read models are built anew: they are at position ${furthest} of ${wholeFrom}.`;
  }
}

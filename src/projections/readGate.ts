/** Whether the read models may be read: not while they show less, or something else, than the log holds. */
import type { EventStore } from '../ports/eventStore.js';
import { type Parked, type ProjectionProgress, ReadModelsWithheldError } from '../ports/readModels.js';
import type { RebuildScope } from '../ports/readModelWriter.js';
import type { ReadModels } from '../ports/readSide.js';
import { partOf } from './applying.js';
import { findLog, projectedPlace } from './keptPlace.js';
import { projections } from './projections.js';

/** Beside the checkpoints: while a projection stands before this position, it is being built anew. */
export const WHOLE_FROM = 'whole-from';

/** At most so old, in milliseconds, is what the gate goes by. */
export const GATE_LOOKS_MS = 1_000;

const OTHER_LOG =
  "They were made of another event log than the service has. /health/ready and the service's log say more.";
const PUT_BACK = 'The event log was put back to an older copy.';

/** Whose read models are withheld, and why, in sentences for callers. */
type Withheld = {
  /** From everybody. */
  readonly all: string | undefined;
  /** From one tenant, by `partOf`. */
  readonly parts: ReadonlyMap<string, string>;
};

type Look = { readonly at: number; readonly withheld: Promise<Withheld> };
type Progress = Pick<ProjectionProgress, 'checkpoint' | 'place' | 'parked'>;
type Name = RebuildScope['projection'];

export class ReadGate {
  readonly #eventStore: Pick<EventStore, 'identity' | 'holds'>;
  readonly #progress: Progress;
  /** The log was found to be that of the read models, once: from then on, whoever finds out otherwise marks them. */
  #isOfLog = false;
  #look: Look | undefined;
  /** By the clock of `performance`: until then a look holds that let everybody pass, and nobody need wait for it. */
  #isOpenUntil = 0;

  constructor(eventStore: Pick<EventStore, 'identity' | 'holds'>, progress: Progress) {
    this.#eventStore = eventStore;
    this.#progress = progress;
  }

  /** Why nothing is read by anybody; undefined while reads are answered. @throws what an engine throws */
  async withheld(): Promise<string | undefined> {
    return (await this.#looked()).all;
  }

  #looked(): Promise<Withheld> {
    const now = performance.now();
    if (this.#look === undefined || now - this.#look.at > GATE_LOOKS_MS) {
      this.#look = { at: now, withheld: this.#find() };
      this.#look.withheld.then(
        ({ all, parts }) => {
          this.#isOpenUntil = all === undefined && parts.size === 0 ? now + GATE_LOOKS_MS : 0;
        },
        // An engine that is away is asked again by the next.
        () => {
          this.#look = undefined;
        },
      );
    }
    return this.#look.withheld;
  }

  /** The read models, as far as they may be read. */
  guard(readModels: ReadModels): ReadModels {
    const guarded =
      <Asked extends unknown[], Answer>(
        projection: Name,
        read: (...asked: Asked) => Promise<Answer>,
        tenantOf: (...asked: Asked) => string | undefined,
      ) =>
      async (...asked: Asked): Promise<Answer> => {
        if (performance.now() > this.#isOpenUntil) await this.#pass(projection, tenantOf(...asked));
        const answer = await read(...asked);
        // It may have been thrown away under a long reading.
        if (performance.now() > this.#isOpenUntil) await this.#pass(projection, tenantOf(...asked));
        return answer;
      };
    const ofTable = ({ tenant }: { readonly tenant: string }): string => tenant;
    const ofTenant = (tenant: string): string => tenant;
    return {
      ...readModels,
      get: guarded('records', readModels.get, ofTable),
      list: guarded('records', readModels.list, ofTable),
      snapshot: guarded('records', readModels.snapshot, ofTable),
      countOutsideBatch: guarded('records', readModels.countOutsideBatch, ofTable),
      find: guarded('records', readModels.find, ofTable),
      history: guarded('order_history', readModels.history, ofTenant),
      delivery: guarded('deliveries', readModels.delivery, ofTenant),
      deliveries: guarded('deliveries', readModels.deliveries, ofTenant),
      webhookHealth: guarded('deliveries', readModels.webhookHealth, ofTenant),
      deliveryBacklog: guarded('deliveries', readModels.deliveryBacklog, () => undefined),
      // Nobody waits for what takes as long as it takes.
      waitFor: async (projection, position, timeoutMs, tenant) =>
        (await this.#reason(projection, tenant)) === undefined &&
        readModels.waitFor(projection, position, timeoutMs, tenant),
    };
  }

  /** @throws ReadModelsWithheldError */
  async #pass(projection: string, tenant: string | undefined): Promise<void> {
    const reason = await this.#reason(projection, tenant);
    if (reason !== undefined) throw new ReadModelsWithheldError(reason);
  }

  async #reason(projection: string, tenant: string | undefined): Promise<string | undefined> {
    const { all, parts } = await this.#looked();
    return all ?? (tenant === undefined ? undefined : parts.get(partOf(projection, tenant)));
  }

  async #find(): Promise<Withheld> {
    const all = await this.#reasonForAll();
    if (all !== undefined) return { all, parts: new Map() };
    const parked = await this.#progress.parked();
    return { all, parts: new Map(parked.map((each) => [partOf(each.projection, each.tenant), reasonOf(each)])) };
  }

  async #reasonForAll(): Promise<string | undefined> {
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

const SHOWN_AS = {
  records: 'The records of this tenant are',
  order_history: 'The history of orders of this tenant is',
  deliveries: 'The delivery log of this tenant is',
} as const satisfies { readonly [projection in Name]: string };

const shownAs = new Map<string, string>(Object.entries(SHOWN_AS));

/** The error itself is for operators. */
const reasonOf = ({ projection, eventType, position }: Parked): string =>
  `${shownAs.get(projection) ?? projection} not shown: the event ${eventType} at position ${position} could not be applied. Nothing is lost; an operator has to act.`;

import type { EventStore, Position } from '../ports/eventStore.js';
import type { Projection } from '../ports/projection.js';
import type { OutOfOrder, ProjectionProgress } from '../ports/projectionProgress.js';
import type { ReadModelWriter } from '../ports/readModelWriter.js';
import { activityProjection } from '../projections/activity.js';
import { deliveriesProjection } from '../projections/deliveries.js';
import { orderHistoryProjection } from '../projections/orderHistory.js';
import { recordsProjection } from '../projections/records.js';
import { BehindSearch, firstUnapplied, fullyApplied, NOTABLE_SECONDS, type TenantsBehind } from './lag.js';

/** Every projection the service keeps. */
export const projections: readonly Projection[] = [
  recordsProjection,
  orderHistoryProjection,
  deliveriesProjection,
  activityProjection,
];

/** Position and parked parts of each projection; `behind` counts the positions up to the head of the log. */
export async function projectionStatus(deps: {
  readonly eventStore: Pick<EventStore, 'head'>;
  readonly writer: Pick<ReadModelWriter, 'checkpoint' | 'parked'>;
}) {
  const head = await deps.eventStore.head();
  const parked = await deps.writer.parked();
  return Promise.all(
    projections.map(async ({ name }) => {
      const position = await deps.writer.checkpoint(name);
      const own = parked.filter(({ projection }) => projection === name);
      return { name, position, head, behind: Math.max(0, head - position), parked: own };
    }),
  );
}

export type ProjectionStatus = Awaited<ReturnType<typeof projectionStatus>>[number];

/** The status over all lanes: the lowest position counts. */
export async function statusOfLanes(
  lanes: readonly Parameters<typeof projectionStatus>[0][],
): Promise<readonly ProjectionStatus[]> {
  const found = (await Promise.all(lanes.map(projectionStatus))).flat();
  return projections.map(({ name }) => {
    const own = found.filter((each) => each.name === name);
    return {
      name,
      position: Math.min(...own.map(({ position }) => position)),
      head: Math.max(...own.map(({ head }) => head)),
      behind: Math.max(...own.map(({ behind }) => behind)),
      parked: own.flatMap(({ parked }) => parked),
    };
  });
}

/** How long, in milliseconds, an operator waits for the search. */
const FULL_SEARCH_MS = 10_000;

/** Tenants that are notably behind in one projection. @throws what the log throws */
export async function tenantsBehind(
  eventStore: Pick<EventStore, 'subscribe'>,
  { name, position, behind }: Pick<ProjectionStatus, 'name' | 'position' | 'behind'>,
  outOfOrder: readonly OutOfOrder[],
): Promise<TenantsBehind> {
  if (behind === 0) return { names: [], isAll: true };
  const own = projections.filter((projection) => projection.name === name);
  const progress = { after: position, outOfOrder: fullyApplied(outOfOrder, name) };
  return new BehindSearch(eventStore, own).find(progress, Date.now() - NOTABLE_SECONDS * 1_000, FULL_SEARCH_MS);
}

/** A projection that is behind and has not moved for this long is stuck, not busy. */
const STANDSTILL_MS = 30_000;

/** How far a projection is behind the log: positions, and age of its oldest unapplied event if known. */
export type ProjectionLag = { readonly name: string; readonly behind: number; readonly seconds: number | undefined };

type Seen = { readonly position: Position; readonly since: number };

/** Between two reports of a catch-up, in milliseconds. */
const PROGRESS_MS = 500;

/** Watches the projections from outside: how far behind they are, and whether one is stuck. */
export class ProjectionWatch {
  readonly #eventStore: Pick<EventStore, 'head' | 'subscribe'>;
  readonly #readModels: ProjectionProgress;
  readonly #now: () => number;
  readonly #seen = new Map<string, Seen>();
  #currentOnce = false;

  /** @param now milliseconds, for tests */
  constructor(
    eventStore: Pick<EventStore, 'head' | 'subscribe'>,
    readModels: ProjectionProgress,
    now: () => number = Date.now,
  ) {
    this.#eventStore = eventStore;
    this.#readModels = readModels;
    this.#now = now;
  }

  /**
   * Waits until every projection has reached the current head of the log. False after `timeoutMs`.
   * @param onProgress called now and then with the position of the last projection, and that of the head
   */
  async catchUp(
    timeoutMs: number,
    onProgress: (reached: { readonly position: Position; readonly of: Position }) => void = () => undefined,
  ): Promise<boolean> {
    const head = await this.#eventStore.head();
    for (let leftMs = timeoutMs; ; leftMs -= PROGRESS_MS) {
      const waitMs = Math.min(leftMs, PROGRESS_MS);
      const reached = await Promise.all(projections.map(({ name }) => this.#readModels.waitFor(name, head, waitMs)));
      this.#currentOnce ||= reached.every((each) => each);
      if (this.#currentOnce || leftMs <= PROGRESS_MS) return this.#currentOnce;
      const positions = await Promise.all(projections.map(({ name }) => this.#readModels.checkpoint(name)));
      onProgress({ position: Math.min(...positions), of: head });
    }
  }

  /** How far each projection is behind the head of the log. @throws what an engine throws */
  async lag(): Promise<readonly ProjectionLag[]> {
    const status = await projectionStatus({ eventStore: this.#eventStore, writer: this.#readModels });
    return Promise.all(
      status.map(async ({ name, position, behind }) => ({
        name,
        behind,
        seconds: await this.#ageAfter(name, position),
      })),
    );
  }

  /** Age of the oldest unapplied event in seconds; undefined if the log does not answer in time. */
  async #ageAfter(name: string, position: Position): Promise<number | undefined> {
    const own = projections.filter((projection) => projection.name === name);
    try {
      const first = await firstUnapplied(this.#eventStore, own, { after: position });
      return first === undefined ? 0 : Math.max(0, (this.#now() - first.at) / 1000);
    } catch {
      return undefined;
    }
  }

  /** After an interruption: `trouble` reports until the projections have caught up once more. */
  mistrust(): void {
    this.#currentOnce = false;
  }

  /** What is wrong; undefined if every projection is current or catching up. @throws what an engine throws */
  async trouble(): Promise<string | undefined> {
    if (!this.#currentOnce && !(await this.catchUp(0))) {
      return `The projections have not caught up yet: ${await this.#lagText()}.`;
    }
    const head = await this.#eventStore.head();
    for (const { name } of projections) {
      const position = await this.#readModels.checkpoint(name);
      const before = this.#seen.get(name);
      if (before === undefined || before.position !== position || position >= head) {
        this.#seen.set(name, { position, since: this.#now() });
      } else if (this.#now() - before.since > STANDSTILL_MS) {
        return `The projection ${name} stands still at ${position}; the log is at ${head}.`;
      }
    }
    return undefined;
  }

  async #lagText(): Promise<string> {
    const status = await projectionStatus({ eventStore: this.#eventStore, writer: this.#readModels });
    return status.map(({ name, behind }) => `${name} is ${behind} positions behind`).join(', ');
  }
}

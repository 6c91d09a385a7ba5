/**
 * Whether the read models match the log. They are checked at most every MARKS_SEEN_MS, beside the reads, so that
 * a read of current read models costs a comparison of two numbers.
 */
import type { EventStore, Position } from '../ports/eventStore.js';
import { findLog, projectedAnchor } from '../ports/logAnchor.js';
import type { Parked, ProjectionProgress } from '../ports/projectionProgress.js';
import type { RebuildScope } from '../ports/readModelWriter.js';
import { tenantPartKey } from '../projector/applying.js';
import { ALL_FILLED_AT, filledAt, MARKS_SEEN_MS } from '../projector/checkpoints.js';
import { fullyApplied } from '../projector/lag.js';
import { projections } from '../projector/projections.js';
import { parkedState, RUNNING, refusalIn, type TenantState } from '../projector/tenantState.js';
import { type Behind, Staleness } from './staleness.js';

/** A check that found reads to refuse is repeated after this time, in milliseconds. */
const REFUSED_CHECK_MS = 250;

const OTHER_LOG =
  "They were made of another event log than the service has. /health/ready and the service's log say more.";
const PUT_BACK = 'The event log was put back to an older copy.';

type Projection = RebuildScope['projection'];

/** What a check found. */
type Found = {
  /** Why no read is answered. */
  readonly refusal: string | undefined;
  readonly filling: ReadonlyMap<string, TenantState>;
  /** Parked parts by `tenantPartKey`. */
  readonly parked: ReadonlyMap<string, TenantState>;
};

const isAllRunning = ({ refusal, filling, parked }: Found): boolean =>
  refusal === undefined && filling.size === 0 && parked.size === 0;

type Check = { readonly found: Promise<Found>; validUntil: number };
type Progress = Pick<
  ProjectionProgress,
  'checkpoint' | 'checkpoints' | 'anchor' | 'parked' | 'outOfOrder' | 'replaced'
>;
type Log = Pick<EventStore, 'identity' | 'holds' | 'head' | 'subscribe'>;

export class ReadGate {
  readonly #eventStore: Log;
  readonly #progress: Progress;
  readonly #staleness: Staleness;
  readonly #maxStalenessSeconds: number;
  /** The log was found to be that of the read models. Later changes are found by others, who then mark the read models. */
  #isOfLog = false;
  #check: Check | undefined;
  /** On the clock of `performance.now()`: until then everything is running, by a check that still holds. */
  #isOpenUntil = 0;
  /** `ProjectionProgress.replaced` at the last check. */
  #replaced = 0;

  /** @param maxStalenessSeconds reads of a tenant are refused while they are staler than this */
  constructor(eventStore: Log, progress: Progress, maxStalenessSeconds: number) {
    this.#eventStore = eventStore;
    this.#progress = progress;
    this.#staleness = new Staleness(eventStore);
    this.#maxStalenessSeconds = maxStalenessSeconds;
  }

  /** Whether a valid check found everything running: then every read may be answered. */
  isOpen(): boolean {
    this.#forgetReplaced();
    return performance.now() <= this.#isOpenUntil;
  }

  /** Why a read is refused; undefined if it may be answered. @throws what an engine throws */
  async refusal(projection: Projection, tenant: string | undefined): Promise<string | undefined> {
    const found = await this.#checked();
    if (found.refusal !== undefined) return found.refusal;
    return refusalIn(await this.#stateOf(found, projection, tenant), projection, this.#maxStalenessSeconds);
  }

  async #stateOf(found: Found, projection: Projection, tenant: string | undefined): Promise<TenantState> {
    const filling = found.filling.get(projection);
    if (filling !== undefined || tenant === undefined) return filling ?? RUNNING;
    const parked = found.parked.get(tenantPartKey(projection, tenant));
    if (parked !== undefined || !this.#staleness.isNotable) return parked ?? RUNNING;
    return { kind: 'behind', seconds: Math.floor(await this.#staleness.of(tenant)) };
  }

  /** How stale the tenant was at its last read, in whole seconds; 0 while it is current. */
  staleness(tenant: string): number {
    return this.#staleness.known(tenant);
  }

  /** Why no read is answered at all; undefined while reads are answered. @throws what an engine throws */
  async withheld(): Promise<string | undefined> {
    return (await this.#checked()).refusal;
  }

  /** Tenants that are behind; undefined if none is. @throws what an engine throws */
  async behind(): Promise<Behind | undefined> {
    await this.#checked();
    return this.#staleness.behind();
  }

  /** Waits for a projection, unless that would take as long as filling it. A projection found complete is read at once. */
  async waitFor(projection: string, tenant: string | undefined, wait: () => Promise<boolean>): Promise<boolean> {
    const { refusal, filling } = await this.#checked();
    if (refusal !== undefined || (tenant !== undefined && filling.has(projection))) return false;
    const isReached = await wait();
    if (isReached && filling.has(projection)) this.#check = undefined;
    return isReached;
  }

  /** The waits for projections of these read models, each as above. */
  waitsOf(models: Pick<ProjectionProgress, 'waitFor' | 'waitForEvent'>): typeof models {
    return {
      waitFor: (...args) => this.waitFor(args[0], args[3], () => models.waitFor(...args)),
      waitForEvent: (...args) => this.waitFor(args[0], args[3], () => models.waitForEvent(...args)),
    };
  }

  #forgetReplaced(): void {
    const replaced = this.#progress.replaced?.() ?? 0;
    if (replaced === this.#replaced) return;
    this.#replaced = replaced;
    this.#check = undefined;
    this.#isOpenUntil = 0;
  }

  #checked(): Promise<Found> {
    this.#forgetReplaced();
    const now = performance.now();
    if (this.#check !== undefined && now <= this.#check.validUntil) return this.#check.found;
    const check: Check = { found: this.#find(), validUntil: now + MARKS_SEEN_MS };
    this.#check = check;
    check.found.then(
      (found) => {
        if (this.#check !== check) return;
        const isOpen = isAllRunning(found);
        if (!isOpen) check.validUntil = now + REFUSED_CHECK_MS;
        this.#isOpenUntil = isOpen && !this.#staleness.isNotable ? check.validUntil : 0;
      },
      // The next read asks the engine again.
      () => {
        if (this.#check === check) this.#check = undefined;
      },
    );
    return check.found;
  }

  async #find(): Promise<Found> {
    const checkpoints = await this.#progress.checkpoints();
    const refusal = await this.#refusalOfAll(checkpoints);
    if (refusal !== undefined) return { refusal, filling: new Map(), parked: new Map() };
    // In the background: reads do not wait for the log.
    const after = Math.min(...projections.map(({ name }) => checkpoints.get(name) ?? 0));
    void this.#staleness.reached({ after, outOfOrder: fullyApplied(await this.#progress.outOfOrder()) });
    return { refusal, filling: fillingIn(checkpoints), parked: byPart(await this.#progress.parked()) };
  }

  async #refusalOfAll(checkpoints: ReadonlyMap<string, Position>): Promise<string | undefined> {
    if (!this.#isOfLog) {
      const found = await findLog(this.#eventStore, await projectedAnchor(this.#progress, projections));
      if (found === 'other') return `The read models are not shown. ${OTHER_LOG}`;
      if (found === 'put back') return `The read models are rebuilt. ${PUT_BACK}`;
      this.#isOfLog = true;
    }
    const filledPosition = checkpoints.get(ALL_FILLED_AT) ?? 0;
    const lowest = Math.min(...projections.map(({ name }) => checkpoints.get(name) ?? 0));
    return lowest >= filledPosition
      ? undefined
      : `The read models are rebuilt: they are at position ${lowest} of ${filledPosition}.`;
  }
}

/** Projections that are new or reset, and not complete yet. */
function fillingIn(checkpoints: ReadonlyMap<string, Position>): ReadonlyMap<string, TenantState> {
  return new Map(
    projections.flatMap(({ name }) => {
      const [position, of] = [checkpoints.get(name) ?? 0, checkpoints.get(filledAt(name)) ?? 0];
      return position > 0 && position >= of ? [] : [[name, { kind: 'filling', position, of }] as const];
    }),
  );
}

const byPart = (parked: readonly Parked[]): ReadonlyMap<string, TenantState> =>
  new Map(parked.map((each) => [tenantPartKey(each.projection, each.tenant), parkedState(each)]));

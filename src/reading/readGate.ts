/** Whether the read models may be read: not while they show less, or something else, than the log holds. */
import type { EventStore, Position } from '../ports/eventStore.js';
import { findLog, projectedAnchor } from '../ports/logAnchor.js';
import { type Parked, type ProjectionProgress, ReadModelsWithheldError } from '../ports/readModels.js';
import type { RebuildScope } from '../ports/readModelWriter.js';
import type { ReadModels } from '../ports/readSide.js';
import { tenantPartKey } from '../projector/applying.js';
import { ALL_FILLED_AT, filledAt, MARKS_SEEN_MS } from '../projector/checkpoints.js';
import { notApplied } from '../projector/parkedText.js';
import { projections } from '../projector/projections.js';
import { fullyApplied } from '../projector/unapplied.js';
import { type Behind, Staleness } from './staleness.js';

/** The same while something is withheld, which may be over at any time. */
const WITHHELD_LOOKS_MS = 250;

const OTHER_LOG =
  "They were made of another event log than the service has. /health/ready and the service's log say more.";
const PUT_BACK = 'The event log was put back to an older copy.';

/** Whose read models are withheld, and why, in sentences for callers. */
type Withheld = {
  /** From everybody. */
  readonly all: string | undefined;
  /** From everybody, by projection. */
  readonly filled: ReadonlyMap<string, string>;
  /** From one tenant, by `partOf`. */
  readonly parts: ReadonlyMap<string, string>;
};

const NOTHING_KNOWN: Withheld = { all: 'Nothing is known yet.', filled: new Map(), parts: new Map() };

const isOpen = ({ all, filled, parts }: Withheld): boolean =>
  all === undefined && filled.size === 0 && parts.size === 0;

type GateCheck = { readonly at: number; readonly withheld: Promise<Withheld>; validUntil: number };
type Progress = Pick<
  ProjectionProgress,
  'checkpoint' | 'checkpoints' | 'anchor' | 'parked' | 'outOfOrder' | 'replaced'
>;
type Log = Pick<EventStore, 'identity' | 'holds' | 'head' | 'subscribe'>;
type Name = RebuildScope['projection'];

export class ReadGate {
  readonly #eventStore: Log;
  readonly #progress: Progress;
  readonly #staleness: Staleness;
  readonly #maxStalenessSeconds: number;
  /** The log was found to be that of the read models, once: from then on, whoever finds out otherwise marks them. */
  #isOfLog = false;
  #look: GateCheck | undefined;
  /** By the last look. */
  #found: Withheld | undefined;
  /** By the clock of `performance`: until then a look holds that let everybody pass, and nobody need wait for it. */
  #isOpenUntil = 0;
  /** How often the read models had been replaced when that was found. */
  #replaced = 0;

  /** @param maxStalenessSeconds a tenant's reads are refused while what they would show is older than this */
  constructor(eventStore: Log, progress: Progress, maxStalenessSeconds: number) {
    this.#eventStore = eventStore;
    this.#progress = progress;
    this.#staleness = new Staleness(eventStore);
    this.#maxStalenessSeconds = maxStalenessSeconds;
  }

  /** How old what is shown of the tenant is, in whole seconds; 0 while it is current. Known as of its last read. */
  staleness(tenant: string): number {
    return this.#staleness.known(tenant);
  }

  /** As of the last look: the tenant's records are read, and not notably old. */
  isCurrent(tenant: string): boolean {
    if (this.#isOpen()) return true;
    const { all, filled, parts } = this.#found ?? NOTHING_KNOWN;
    return (
      all === undefined &&
      !filled.has('records') &&
      !parts.has(tenantPartKey('records', tenant)) &&
      this.staleness(tenant) === 0
    );
  }

  /** Why nothing is read by anybody; undefined while reads are answered. @throws what an engine throws */
  async withheld(): Promise<string | undefined> {
    return (await this.#looked()).all;
  }

  /** Tenants that are behind; undefined where nobody is. @throws what an engine throws */
  async behind(): Promise<Behind | undefined> {
    await this.#looked();
    return this.#staleness.behind();
  }

  /** By a look that holds still. */
  #isOpen(): boolean {
    this.#forgetReplaced();
    return performance.now() <= this.#isOpenUntil;
  }

  #forgetReplaced(): void {
    const replaced = this.#progress.replaced?.() ?? 0;
    if (replaced === this.#replaced) return;
    this.#replaced = replaced;
    this.#look = undefined;
    this.#found = undefined;
    this.#isOpenUntil = 0;
  }

  #looked(): Promise<Withheld> {
    this.#forgetReplaced();
    const now = performance.now();
    if (this.#look !== undefined && now <= this.#look.validUntil) return this.#look.withheld;
    const look = { at: now, withheld: this.#find(), validUntil: now + MARKS_SEEN_MS };
    this.#look = look;
    look.withheld.then(
      (withheld) => {
        if (this.#look !== look) return;
        this.#found = withheld;
        if (!isOpen(withheld)) look.validUntil = now + WITHHELD_LOOKS_MS;
        this.#isOpenUntil = isOpen(withheld) && !this.#staleness.isNotable ? look.validUntil : 0;
      },
      // An engine that is away is asked again by the next.
      () => {
        if (this.#look === look) this.#look = undefined;
      },
    );
    return look.withheld;
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
        if (!this.#isOpen()) await this.#pass(projection, tenantOf(...asked));
        const answer = await read(...asked);
        // It may have been thrown away under a long reading.
        if (!this.#isOpen()) await this.#pass(projection, tenantOf(...asked));
        return answer;
      };
    const ofTable = ({ tenant }: { readonly tenant: string }): string => tenant;
    const ofTenant = (tenant: string): string => tenant;
    return {
      ...readModels,
      get: guarded('records', readModels.get, ofTable),
      list: guarded('records', readModels.list, ofTable),
      tableState: guarded('records', readModels.tableState, ofTable),
      tableFigures: guarded('records', readModels.tableFigures, () => undefined),
      listBehind: guarded('records', readModels.listBehind, ofTable),
      byIds: guarded('records', readModels.byIds, ofTable),
      cleanedUpIds: guarded('records', readModels.cleanedUpIds, ofTable),
      snapshot: guarded('records', readModels.snapshot, ofTable),
      countOutsideBatch: guarded('records', readModels.countOutsideBatch, ofTable),
      someOutsideBatch: guarded('records', readModels.someOutsideBatch, ofTable),
      deletedRecords: guarded('records', readModels.deletedRecords, ofTable),
      find: guarded('records', readModels.find, ofTable),
      history: guarded('order_history', readModels.history, ofTenant),
      approvals: guarded('order_history', readModels.approvals, ofTenant),
      delivery: guarded('deliveries', readModels.delivery, ofTenant),
      deliveries: guarded('deliveries', readModels.deliveries, ofTenant),
      webhookHealth: guarded('deliveries', readModels.webhookHealth, ofTenant),
      deliveryBacklog: guarded('deliveries', readModels.deliveryBacklog, () => undefined),
      waitFor: (...asked) => this.#waited(asked[0], asked[3], () => readModels.waitFor(...asked)),
      waitForEvent: (...asked) => this.#waited(asked[0], asked[3], () => readModels.waitForEvent(...asked)),
    };
  }

  async #waited(projection: string, tenant: string | undefined, wait: () => Promise<boolean>): Promise<boolean> {
    const { all, filled } = await this.#looked();
    // Nobody waits for what takes as long as it takes.
    if (all !== undefined || (tenant !== undefined && filled.has(projection))) return false;
    const isReached = await wait();
    // Whoever has waited for it may read at once.
    if (isReached && filled.has(projection)) this.#look = undefined;
    return isReached;
  }

  /** @throws ReadModelsWithheldError */
  async #pass(projection: string, tenant: string | undefined): Promise<void> {
    const reason = await this.#reason(projection, tenant);
    if (reason !== undefined) throw new ReadModelsWithheldError(reason);
  }

  async #reason(projection: string, tenant: string | undefined): Promise<string | undefined> {
    const { all, filled, parts } = await this.#looked();
    const known = all ?? filled.get(projection);
    if (known !== undefined || tenant === undefined) return known;
    const parked = parts.get(tenantPartKey(projection, tenant));
    if (parked !== undefined || !this.#staleness.isNotable) return parked;
    const seconds = Math.floor(await this.#staleness.of(tenant));
    return seconds <= this.#maxStalenessSeconds
      ? undefined
      : `The read models of this tenant are ${seconds} seconds behind what was written, more than the ${this.#maxStalenessSeconds} that are allowed.`;
  }

  async #find(): Promise<Withheld> {
    const checkpoints = await this.#progress.checkpoints();
    const all = await this.#reasonForAll(checkpoints);
    if (all !== undefined) return { all, filled: new Map(), parts: new Map() };
    // Beside the reads, which do not wait for the log.
    const lowest = Math.min(...projections.map(({ name }) => checkpoints.get(name) ?? 0));
    void this.#staleness.reached({ after: lowest, outOfOrder: fullyApplied(await this.#progress.outOfOrder()) });
    const parked = await this.#progress.parked();
    const parts = new Map(parked.map((each) => [tenantPartKey(each.projection, each.tenant), reasonOf(each)]));
    return { all, filled: beingFilled(checkpoints), parts };
  }

  async #reasonForAll(checkpoints: ReadonlyMap<string, Position>): Promise<string | undefined> {
    if (!this.#isOfLog) {
      const found = await findLog(this.#eventStore, await projectedAnchor(this.#progress, projections));
      if (found === 'other') return `The read models are not shown. ${OTHER_LOG}`;
      if (found === 'put back') return `The read models are built anew. ${PUT_BACK}`;
      this.#isOfLog = true;
    }
    const filledPosition = checkpoints.get(ALL_FILLED_AT) ?? 0;
    const furthest = Math.min(...projections.map(({ name }) => checkpoints.get(name) ?? 0));
    return furthest >= filledPosition
      ? undefined
      : `The read models are built anew: they are at position ${furthest} of ${filledPosition}.`;
  }
}

/** Why a projection is shown to nobody, of those that show less than there is: they are new, or written anew. */
function beingFilled(checkpoints: ReadonlyMap<string, Position>): ReadonlyMap<string, string> {
  return new Map(
    projections.flatMap(({ name }) => {
      const [position, filledPosition] = [checkpoints.get(name) ?? 0, checkpoints.get(filledAt(name)) ?? 0];
      if (position > 0 && position >= filledPosition) return [];
      return [[name, `The read model ${name} is being filled: it is at position ${position} of ${filledPosition}.`]];
    }),
  );
}

const SHOWN_AS = {
  records: 'The records of this tenant are',
  order_history: 'The history of orders of this tenant is',
  deliveries: 'The delivery log of this tenant is',
} as const satisfies { readonly [projection in Name]: string };

const shownAs = new Map<string, string>(Object.entries(SHOWN_AS));

const reasonOf = (parked: Parked): string =>
  `${shownAs.get(parked.projection) ?? parked.projection} not shown: ${notApplied(parked)}`;

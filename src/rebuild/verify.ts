/**
 * Proves that a read model matches the log: fills a hidden copy, as a rebuild does, and compares the served data with
 * it slice by slice while the service runs. A slice that differs is compared again with both at the same position; the
 * live projection is held for one slice at most.
 */
import type { Position } from '../ports/eventStore.js';
import type { Parked } from '../ports/projectionProgress.js';
import type { Difference, ProofPart, ProofSlice } from '../ports/readModelProof.js';
import type { RebuildScope } from '../ports/readModelWriter.js';
import { sleep } from '../supervision/waiting.js';
import { beginCopy, catchUp, type FilledCopy, type RebuildDeps, type RebuildProgress } from './rebuild.js';

export type VerifyDeps = RebuildDeps & {
  /** How many days a delivery is shown after its end; older ones may be missing. */
  readonly deliveryLogDays: number;
  /** How long it waits, in all, for a projector to end a commit that another one has left half-way. Default 30,000 ms. */
  readonly interruptedCommitMs?: number;
};

type VerifyProgress =
  | ({ readonly step: 'applying' } & RebuildProgress)
  | { readonly step: 'comparing'; readonly parts: number; readonly of: number; readonly records: number };

export type VerifyReport = RebuildScope & {
  /** Log position up to which both were compared, at least. */
  readonly position: Position;
  /** Compared tables, histories or delivery logs, and the records in them. */
  readonly parts: number;
  readonly records: number;
  readonly differences: readonly Difference[];
  /** How many differences were found beyond those listed. */
  readonly more: number;
  readonly seconds: number;
};

/** Most differences listed for one projection. */
export const MAX_DIFFERENCES = 100;

/** Most times that the live projection is held for one slice. */
const MAX_HOLDS = 5;
const INTERRUPTED_COMMIT_MS = 30_000;
const POLL_MS = 50;

const DAY_MS = 24 * 3600 * 1000;

/** @throws UnappliedEventError; the signal's reason; what an engine throws. The live read model is never changed. */
export async function verifyProjection(
  deps: VerifyDeps,
  scope: RebuildScope,
  onProgress: (progress: VerifyProgress) => void = () => {},
  signal: AbortSignal = new AbortController().signal,
): Promise<VerifyReport> {
  const started = performance.now();
  const parked = (await deps.writer.parked()).filter(
    ({ projection, tenant }) => projection === scope.projection && (scope.tenant ?? tenant) === tenant,
  );
  const filled = await beginCopy(deps, scope, signal, new Set(parked.map(({ tenant }) => tenant)));
  try {
    const onApplied = (progress: RebuildProgress) => onProgress({ step: 'applying', ...progress });
    await catchUp(deps, scope, filled.replay, onApplied);
    const found = await new Verification(deps, scope, filled, signal).compareAll(parked, onProgress);
    const seconds = (performance.now() - started) / 1000;
    return { ...scope, position: filled.copy.position(), ...found, seconds };
  } finally {
    await filled.copy.abandon();
  }
}

class Verification {
  readonly #deps: VerifyDeps;
  readonly #scope: RebuildScope;
  readonly #filled: FilledCopy;
  readonly #signal: AbortSignal;
  readonly #differences: Difference[] = [];
  #found = 0;
  #patienceMs: number;
  #records = 0;

  constructor(deps: VerifyDeps, scope: RebuildScope, filled: FilledCopy, signal: AbortSignal) {
    this.#deps = deps;
    this.#patienceMs = deps.interruptedCommitMs ?? INTERRUPTED_COMMIT_MS;
    this.#scope = scope;
    this.#filled = filled;
    this.#signal = signal;
  }

  /** @param parked these tenants' parts are at other positions, and are not compared */
  async compareAll(parked: readonly Parked[], onProgress: (progress: VerifyProgress) => void) {
    const { proof } = this.#filled.copy;
    this.#note(parked.map(notCompared));
    const parts = (await proof.parts()).filter((part) => parked.every(({ tenant }) => tenant !== part.tenant));
    for (const [index, part] of parts.entries()) {
      await this.#comparePart(part, () =>
        onProgress({ step: 'comparing', parts: index, of: parts.length, records: this.#records }),
      );
    }
    if (this.#scope.tenant === undefined) this.#note(await proof.shared());
    const more = this.#found - this.#differences.length;
    return { parts: parts.length, records: this.#records, differences: this.#differences, more };
  }

  async #comparePart(part: ProofPart, onSlice: () => void): Promise<void> {
    const { proof } = this.#filled.copy;
    const subject = 'live';
    let after: string | undefined;
    do {
      const from = after;
      const slice = await this.#settled(part, () =>
        proof.slice(part, { subject, after: from, droppedBefore: this.#droppedBefore() }),
      );
      this.#records += slice.records;
      this.#note(slice.differences);
      after = slice.next;
      onSlice();
    } while (after !== undefined);
    this.#note((await this.#settled(part, () => proof.structure(part, { subject }))).differences);
  }

  /** Asked for each comparison, as the service drops old deliveries meanwhile. */
  #droppedBefore(): string {
    return new Date(Date.now() - this.#deps.deliveryLogDays * DAY_MS).toISOString();
  }

  #note(differences: readonly Difference[]): void {
    this.#found += differences.length;
    this.#differences.push(...differences.slice(0, MAX_DIFFERENCES - this.#differences.length));
  }

  /** A difference may come from different positions: then both are brought to one position and compared again. */
  async #settled(part: ProofPart, compare: () => Promise<ProofSlice>): Promise<ProofSlice> {
    this.#signal.throwIfAborted();
    await this.#filled.replay.keep();
    const first = await compare();
    if (first.differences.length === 0 || first.exact) return first;
    await catchUp(this.#deps, this.#scope, this.#filled.replay, () => {});
    const second = await compare();
    if (second.differences.length === 0 || second.exact) return second;
    return this.#held(part, compare);
  }

  /** Compares while the live projection is held, with both at one position. */
  async #held(part: ProofPart, compare: () => Promise<ProofSlice>): Promise<ProofSlice> {
    const { copy, replay } = this.#filled;
    for (let holds = 1; ; holds++) {
      const heldAt = performance.now();
      const position = await copy.holdLive();
      await replay.finish(position);
      const slice = await compare();
      await copy.release(position);
      // The live projection runs at least half of the time.
      await sleep(performance.now() - heldAt, this.#signal);
      if (slice.differences.length === 0 || slice.exact) return slice;
      // A commit was left half-way, so the served data is of no one position.
      const goesOn = holds < MAX_HOLDS && (await this.#movesBeyond(position));
      if (!goesOn) return { ...slice, differences: [interruptedAt(part, this.#scope, position)] };
    }
  }

  /** Whether the live projection commits. */
  async #movesBeyond(position: Position): Promise<boolean> {
    while ((await this.#deps.writer.checkpoint(this.#scope.projection)) <= position) {
      if (this.#patienceMs <= 0) return false;
      this.#patienceMs -= POLL_MS;
      await sleep(POLL_MS, this.#signal);
    }
    return true;
  }
}

const interruptedAt = (part: ProofPart, { projection }: RebuildScope, position: Position): Difference => ({
  ...part,
  place: projection,
  record: null,
  kind: 'different',
  detail: `It was not compared: a commit behind position ${position} was left half-way, and no projector ended it. Start the service, which does, and verify again.`,
});

const notCompared = ({ tenant, projection, position, eventType }: Parked): Difference => ({
  tenant,
  table: null,
  place: projection,
  record: null,
  kind: 'different',
  detail: `It is parked at position ${position} (${eventType}), and was not compared: go on with "projections retry", or rebuild it.`,
});

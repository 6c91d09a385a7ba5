/**
 * Writes that were answered as soon as they were in the log, and that the read models do not show yet. Who reads what they
 * changed waits until they are shown, so whoever was told of a write finds it. Writes that follow each other are not held up
 * by projecting, and reads seldom come so soon.
 */
import type { AssetType } from '../domain/assetTypes/assetType.js';
import { MAX_TENANT_UNSHOWN_WRITES, MAX_UNSHOWN_WRITES } from '../domain/limits.js';
import { ReadModelsWithheldError } from '../ports/readModels.js';
import type { ReadModels } from '../ports/readSide.js';
import { withTimeout } from '../supervision/waiting.js';

/** While one is not shown for so long, in milliseconds, those that follow wait themselves: projecting may stand still. */
const LATE_MS = 1_000;
/** So much too early, in milliseconds, a timer may be. */
const EARLY_MS = 2;

/** Of one tenant: a reference table's name, or this for everything of its orders, whose parts are tables as well. */
export const ORDERS = '';

/** The part of the tenant's records that the asset type is of. */
export const waitScopeOf = ({ role, name }: Pick<AssetType, 'role' | 'name'>): string =>
  role === 'reference' ? name : ORDERS;

type Unshown = {
  /** Of the tenant's records. */
  readonly part: string;
  readonly since: number;
  /** Unset where its own answer waits, since it is about many records. */
  readonly shown?: Promise<void>;
};

export class PendingWrites {
  readonly #longestReadMs: number;
  readonly #isCurrent: (tenant: string) => boolean;
  /** By tenant, in the order of their answers. */
  readonly #writes = new Map<string, Unshown[]>();
  #count = 0;

  /**
   * @param longestReadMs a read waits so long for a write at most, from its answer on
   * @param isCurrent whether nothing of the tenant is known to be withheld, or behind for longer
   */
  constructor(longestReadMs: number, isCurrent: (tenant: string) => boolean) {
    this.#longestReadMs = longestReadMs;
    this.#isCurrent = isCurrent;
  }

  /** Whether a write of few records may be answered before they are shown. */
  hasRoom(tenant: string, part: string): boolean {
    if (this.#count >= MAX_UNSHOWN_WRITES || !this.#isCurrent(tenant)) return false;
    const writes = this.#writes.get(tenant);
    if (writes === undefined) return true;
    const since = performance.now() - LATE_MS;
    return (
      writes.length < MAX_TENANT_UNSHOWN_WRITES &&
      // It would be shown after many records only, and reads had to wait as long.
      !writes.some((write) => (write.shown === undefined ? write.part === part : write.since < since))
    );
  }

  /** Reads of the part wait from now on. @param shown resolves when the read models show it, or never will by themselves */
  add(tenant: string, part: string, shown: Promise<unknown>): void {
    const isShown = shown.then(() => this.#remove(tenant, write));
    const write: Unshown = { part, since: performance.now(), shown: isShown };
    this.#put(tenant, write);
  }

  /** One whose own answer waits: what changes the same part meanwhile waits as well. */
  async during<Answer>(tenant: string, part: string, shown: Promise<Answer>): Promise<Answer> {
    const write: Unshown = { part, since: performance.now() };
    this.#put(tenant, write);
    try {
      return await shown;
    } finally {
      this.#remove(tenant, write);
    }
  }

  /** Whether a read of the tenant may have been answered without a write that was answered before. */
  isLate(tenant: string): boolean {
    return (
      this.#writes.get(tenant)?.some((write) => write.shown !== undefined && this.#leftMs(write) <= EARLY_MS) ?? false
    );
  }

  /** For a read that finds nothing. @throws ReadModelsWithheldError where that may be something that was answered before */
  requireShown(tenant: string): void {
    if (this.isLate(tenant)) throw new ReadModelsWithheldError('What was written last is not shown yet.');
  }

  /** Undefined where there is nothing to wait for. Never rejects. */
  untilShown(tenant: string, part: string): Promise<void> | undefined {
    const writes = this.#writes.get(tenant)?.filter((write) => write.part === part && write.shown !== undefined);
    const last = writes?.at(-1);
    if (writes === undefined || last === undefined) return undefined;
    const leftMs = this.#leftMs(last);
    if (leftMs <= EARLY_MS) return undefined;
    const all = Promise.all(writes.map(({ shown }) => shown)).then(() => undefined);
    return withTimeout(leftMs, 'Not shown in time.', all).catch(() => undefined);
  }

  /** The read models as they are when that is done. @param partOf whose table it is */
  guard(readModels: ReadModels, partOf: (tenant: string, table: string) => string): ReadModels {
    const guarded =
      <Of, Asked extends unknown[], Answer>(
        read: (of: Of, ...asked: Asked) => Promise<Answer>,
        waitFor: (of: Of) => Promise<void> | undefined,
      ) =>
      (of: Of, ...asked: Asked): Promise<Answer> =>
        waitFor(of)?.then(() => read(of, ...asked)) ?? read(of, ...asked);
    const ofTable = ({ tenant, table }: { readonly tenant: string; readonly table: string }) =>
      this.#writes.has(tenant) ? this.untilShown(tenant, partOf(tenant, table)) : undefined;
    const { get, list, listBehind, byIds, cleanedUpIds, tableState, find, history, approvals } = readModels;
    return {
      ...readModels,
      get: guarded(get, ofTable),
      list: guarded(list, ofTable),
      listBehind: guarded(listBehind, ofTable),
      byIds: guarded(byIds, ofTable),
      cleanedUpIds: guarded(cleanedUpIds, ofTable),
      tableState: guarded(tableState, ofTable),
      find: guarded(find, ofTable),
      history: guarded(history, (tenant) => this.untilShown(tenant, ORDERS)),
      approvals: guarded(approvals, (tenant) => this.untilShown(tenant, ORDERS)),
    };
  }

  /** For reads, to wait for it. */
  #leftMs({ since }: Unshown): number {
    return since + this.#longestReadMs - performance.now();
  }

  #put(tenant: string, write: Unshown): void {
    const writes = this.#writes.get(tenant);
    if (writes === undefined) this.#writes.set(tenant, [write]);
    else writes.push(write);
    this.#count += 1;
  }

  #remove(tenant: string, write: Unshown): void {
    const writes = this.#writes.get(tenant) ?? [];
    writes.splice(writes.indexOf(write), 1);
    if (writes.length === 0) this.#writes.delete(tenant);
    this.#count -= 1;
  }
}

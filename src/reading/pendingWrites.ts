/**
 * Writes that were answered once they were in the log, before the read models show them. Reads of the same data wait
 * until they are shown, so a client always finds what it wrote. Successive writes need not wait for the projector, and
 * reads rarely follow a write at once.
 */
import type { AssetType } from '../domain/assetTypes/assetType.js';
import { MAX_PENDING_WRITES, MAX_TENANT_PENDING_WRITES } from '../domain/limits.js';
import { ReadModelsWithheldError } from '../ports/readModels.js';
import { withTimeout } from '../supervision/waiting.js';

/** If a write is not shown after this time, in milliseconds, later writes wait themselves: the projector may be stuck. */
const LATE_MS = 1_000;
/** A timer may fire this early, in milliseconds. */
const EARLY_MS = 2;

/** A wait scope is a reference table's name, or this for all of a tenant's order tables. */
export const ORDERS = '';

/** The wait scope of a table. */
export const waitScopeOf = ({ role, name }: Pick<AssetType, 'role' | 'name'>): string =>
  role === 'reference' ? name : ORDERS;

type PendingWrite = {
  /** The wait scope. */
  readonly waitScope: string;
  readonly since: number;
  /** Unset for a bulk write, whose own answer waits. */
  readonly shown?: Promise<void>;
};

export class PendingWrites {
  readonly #longestReadMs: number;
  readonly #isCurrent: (tenant: string) => boolean;
  /** By tenant, in the order of the answers. */
  readonly #writes = new Map<string, PendingWrite[]>();
  #count = 0;

  /**
   * @param longestReadMs a read waits at most this long for a write, counted from the write's answer
   * @param isCurrent whether the tenant's read models are neither withheld nor behind
   */
  constructor(longestReadMs: number, isCurrent: (tenant: string) => boolean) {
    this.#longestReadMs = longestReadMs;
    this.#isCurrent = isCurrent;
  }

  /** Whether a write of few records may be answered before it is shown. */
  hasRoom(tenant: string, waitScope: string): boolean {
    if (this.#count >= MAX_PENDING_WRITES || !this.#isCurrent(tenant)) return false;
    const writes = this.#writes.get(tenant);
    if (writes === undefined) return true;
    const since = performance.now() - LATE_MS;
    return (
      writes.length < MAX_TENANT_PENDING_WRITES &&
      // Behind a bulk write it would be shown late, and reads would have to wait as long.
      !writes.some((write) => (write.shown === undefined ? write.waitScope === waitScope : write.since < since))
    );
  }

  /** Reads of the write's wait scope wait from now on. @param shown resolves when it is shown, or given up */
  add(tenant: string, waitScope: string, shown: Promise<unknown>): void {
    const isShown = shown.then(() => this.#remove(tenant, write));
    const write: PendingWrite = { waitScope, since: performance.now(), shown: isShown };
    this.#put(tenant, write);
  }

  /** A bulk write, whose own answer waits: until then, other writes of its wait scope wait too. */
  async during<Answer>(tenant: string, waitScope: string, shown: Promise<Answer>): Promise<Answer> {
    const write: PendingWrite = { waitScope, since: performance.now() };
    this.#put(tenant, write);
    try {
      return await shown;
    } finally {
      this.#remove(tenant, write);
    }
  }

  /** Whether a read of the tenant may lack a write that was answered before. */
  isLate(tenant: string): boolean {
    return (
      this.#writes.get(tenant)?.some((write) => write.shown !== undefined && this.#leftMs(write) <= EARLY_MS) ?? false
    );
  }

  /** For a read that found nothing. @throws ReadModelsWithheldError if a write answered before may be missing */
  requireShown(tenant: string): void {
    if (this.isLate(tenant)) throw new ReadModelsWithheldError('What was written last is not shown yet.');
  }

  isPending(tenant: string): boolean {
    return this.#writes.has(tenant);
  }

  /** Resolves when all pending writes of the wait scope are shown, or time is up; undefined if there are none. Never rejects. */
  untilShown(tenant: string, waitScope: string): Promise<void> | undefined {
    const writes = this.#writes
      .get(tenant)
      ?.filter((write) => write.waitScope === waitScope && write.shown !== undefined);
    const last = writes?.at(-1);
    if (writes === undefined || last === undefined) return undefined;
    const leftMs = this.#leftMs(last);
    if (leftMs <= EARLY_MS) return undefined;
    const all = Promise.all(writes.map(({ shown }) => shown)).then(() => undefined);
    return withTimeout(leftMs, 'Not shown in time.', all).catch(() => undefined);
  }

  /** How long a read may still wait for it. */
  #leftMs({ since }: PendingWrite): number {
    return since + this.#longestReadMs - performance.now();
  }

  #put(tenant: string, write: PendingWrite): void {
    const writes = this.#writes.get(tenant);
    if (writes === undefined) this.#writes.set(tenant, [write]);
    else writes.push(write);
    this.#count += 1;
  }

  #remove(tenant: string, write: PendingWrite): void {
    const writes = this.#writes.get(tenant) ?? [];
    writes.splice(writes.indexOf(write), 1);
    if (writes.length === 0) this.#writes.delete(tenant);
    this.#count -= 1;
  }
}

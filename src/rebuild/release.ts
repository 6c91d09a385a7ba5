/**
 * Brings the tables of all tenants to the asset types of this release, in the background, once after the release
 * changed them. First each table gets its new fields, tenant by tenant, in short transactions. Then each table whose
 * stored records lack an index is rebuilt beside the live one. A table that is written to before its turn is updated by
 * the projection itself.
 */
import { createHash } from 'node:crypto';
import type PQueue from 'p-queue';
import type { Tenant } from '../domain/identity/directory.js';
import { ORDER_MODELS } from '../domain/identity/events.js';
import { standardTables } from '../domain/identity/tenantTables.js';
import { tenantStream } from '../domain/streams.js';
import { copiedOnce } from '../domain/writable.js';
import type { EventStore } from '../ports/eventStore.js';
import { findLog, projectedAnchor } from '../ports/logAnchor.js';
import { inTransaction } from '../projector/applying.js';
import { projections } from '../projector/projections.js';
import { evolveTenantIn } from '../projector/steps.js';
import { Backoff } from '../supervision/keepRunning.js';
import { sleep } from '../supervision/waiting.js';
import { type RebuildDeps, type RebuildReport, rebuildProjection } from './rebuild.js';

type ReleaseDeps = RebuildDeps & {
  readonly eventStore: EventStore;
  /** Serialises writes; shared with the projections that use the same writer. */
  readonly writing: PQueue;
  /** Called for each rebuilt table. */
  readonly onRebuilt: (report: RebuildReport) => void;
  /** Called with each failure; the work is retried. */
  readonly onFailure: (error: unknown) => void;
};

/** Raise it when the rules change that lay out a table for its asset type. */
const LAYOUT_VERSION = 2;

/** Stored beside the checkpoints: a number that identifies the standard tables that all tenants were brought to. */
const MARK = 'records.release';

/** Another rebuild may be running, or an engine may be away. */
const BACKOFF = { firstMs: 1_000, longestMs: 300_000 };

/** Resolves when everything is done, or the signal aborts. */
export async function followRelease(deps: ReleaseDeps, signal: AbortSignal): Promise<void> {
  const { writer, writing } = deps;
  const mark = releaseMark();
  if ((await untilDone(deps, signal, () => writer.checkpoint(MARK))) === mark) return;
  const isComplete = await untilDone(deps, signal, () => defineAll(deps, signal));
  await untilDone(deps, signal, () => rebuildOutdated(deps, signal));
  // Tenants that were skipped are tried at the next start.
  if (isComplete === false) return;
  const setMark = async () => new Map([[MARK, mark]]);
  await untilDone(deps, signal, () => writing.add(() => inTransaction(writer, setMark)));
}

/** Retries until the work succeeds. @returns the result; undefined if the signal aborts */
async function untilDone<Result>(
  deps: Pick<ReleaseDeps, 'onFailure'>,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  const backoff = new Backoff(BACKOFF);
  while (!signal.aborted) {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted) break;
      deps.onFailure(error);
      await sleep(backoff.next(), signal);
    }
  }
  return undefined;
}

/** @returns false if some tenants were skipped */
async function defineAll(deps: ReleaseDeps, signal: AbortSignal): Promise<boolean> {
  const { eventStore, writer } = deps;
  if ((await findLog(eventStore, await projectedAnchor(writer, projections))) !== 'same') {
    throw new Error('The read models are not of this event log, or are about to be rebuilt.');
  }
  let isComplete = true;
  for await (const { tenant, isThere } of tenantsOf(deps, signal)) {
    if (!(await defineTables(deps, tenant, isThere))) isComplete = false;
  }
  return isComplete;
}

/** @throws the first failure, after all tables were tried */
async function rebuildOutdated(deps: ReleaseDeps, signal: AbortSignal): Promise<void> {
  let failure: unknown;
  for await (const { tenant } of tenantsOf(deps, signal)) {
    for (const table of await deps.writer.outdatedTables(tenant)) {
      try {
        const scope = { projection: 'records', tenant, table } as const;
        deps.onRebuilt(await rebuildProjection(deps, scope, undefined, signal));
      } catch (error) {
        signal.throwIfAborted();
        failure ??= error;
      }
    }
  }
  if (failure !== undefined) throw failure;
}

/** Equal for equal standard tables; 48 bits, because a checkpoint is a number. */
function releaseMark(): number {
  const standard = ORDER_MODELS.map((model) => [...standardTables(model)]);
  const text = JSON.stringify([LAYOUT_VERSION, standard]);
  return Number.parseInt(createHash('sha256').update(text).digest('hex').slice(0, 12), 16);
}

/** `isThere` tells whether the tenant still has tables: it may be deleted meanwhile. */
type Found = { readonly tenant: string; readonly isThere: () => Promise<boolean> };

async function* tenantsOf({ writer }: Pick<ReleaseDeps, 'writer'>, signal: AbortSignal): AsyncGenerator<Found> {
  let before: string | undefined;
  for (;;) {
    const after = before;
    const tenant = await writer.nextTenant(after);
    if (tenant === undefined || signal.aborted) return;
    yield { tenant, isThere: async () => (await writer.nextTenant(after)) === tenant };
    before = tenant;
  }
}

/**
 * Uses all events of the tenant in the log, even those that the projection has not applied: a table may get an empty
 * field early.
 * @returns false if one of its events cannot be applied, so that its tables are unknown
 */
async function defineTables(
  { eventStore, writer, writing, onFailure }: ReleaseDeps,
  name: string,
  isThere: Found['isThere'],
): Promise<boolean> {
  const tenants = new Map<string, Tenant | undefined>();
  const writable = copiedOnce();
  const events = await eventStore.readStream(tenantStream(name));
  try {
    for (const event of events) evolveTenantIn(tenants, event, writable);
  } catch (error) {
    onFailure(error);
    return false;
  }
  const tenant = tenants.get(name);
  if (tenant === undefined || tenant.deleted) return true;
  const define = async () => {
    const assetTypes = (await isThere()) ? tenant.assetTypes : [];
    for (const [table, assetType] of assetTypes) await writer.defineTable({ tenant: name, table }, assetType);
    return new Map();
  };
  await writing.add(() => inTransaction(writer, define));
  return true;
}

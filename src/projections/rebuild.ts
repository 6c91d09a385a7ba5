/**
 * Rebuilds read models beside the live ones: a hidden copy is filled from the log while the live one serves
 * and goes on, and takes its place in one step when both are at the same position. Nothing else hears of
 * the replayed events: projections have no side effects, so no webhook is sent again.
 */

import { TENANT_STREAM_PREFIX } from '../domain/identity/directory.js';
import { parseStream, STREAM_PREFIXES, tenantStream } from '../domain/streams.js';
import type { EventStore, Position, RecordedEvent } from '../ports/eventStore.js';
import type {
  ReadModelRebuild,
  ReadModelWriter,
  RebuildableReadModels,
  RebuildScope,
} from '../ports/readModelWriter.js';
import { acceptFound, findLog, projectedPlace } from './keptPlace.js';
import { inTransaction, ProjectedTenants, type Projection, type ProjectionTarget } from './projection.js';
import { projections } from './projections.js';

export type RebuildDeps = { readonly eventStore: EventStore; readonly writer: ReadModelWriter & RebuildableReadModels };

export type RebuildProgress = { readonly position: Position; readonly head: Position };

export type RebuildReport = RebuildScope & {
  readonly events: number;
  readonly position: Position;
  readonly seconds: number;
};

const PUT_BACK =
  'The event log was put back to an older copy than the read models were made of. Start the service: it builds them anew.';

/** Close enough to the live one to hold it still for the rest. */
const CLOSE = 200;

/** @throws Error for an unknown projection; the copy is thrown away and the live one stays when anything fails */
export async function rebuildProjection(
  deps: RebuildDeps,
  scope: RebuildScope,
  onProgress: (progress: RebuildProgress) => void = () => {},
): Promise<RebuildReport> {
  const projection = projections.find(({ name }) => name === scope.projection);
  if (projection === undefined) throw new Error(`There is no projection ${scope.projection}.`);
  const found = await findLog(deps.eventStore, await projectedPlace(deps.writer, projections));
  acceptFound(found, 'The read models', false);
  if (found !== 'same') throw new Error(PUT_BACK);
  const started = performance.now();
  const copy = await deps.writer.beginRebuild(scope);
  const replay = new Replay(deps.eventStore, projection, scope, copy);
  try {
    for (;;) {
      const live = await deps.writer.checkpoint(projection.name);
      await replay.advance(live, (position) => onProgress({ position, head: live }));
      if ((await deps.writer.checkpoint(projection.name)) - live < CLOSE) break;
    }
    const position = await copy.holdLive();
    await replay.finish(position);
    await copy.swap();
    onProgress({ position, head: position });
    return { ...scope, events: replay.events, position, seconds: (performance.now() - started) / 1000 };
  } catch (error) {
    await copy.abandon();
    throw error;
  }
}

/** Feeds the copy from the log, as far as it is told and no further: never beyond the live one. */
class Replay {
  readonly #eventStore: EventStore;
  readonly #projection: Projection;
  readonly #scope: RebuildScope;
  readonly #copy: ReadModelRebuild;
  readonly #tenants: ProjectedTenants;
  #position: Position = 0;
  events = 0;

  constructor(eventStore: EventStore, projection: Projection, scope: RebuildScope, copy: ReadModelRebuild) {
    this.#eventStore = eventStore;
    this.#tenants = new ProjectedTenants(eventStore);
    this.#projection = projection;
    this.#scope = scope;
    this.#copy = copy;
  }

  /** In transactions of its own, a slice each. */
  async advance(to: Position, onProgress: (position: Position) => void): Promise<void> {
    const { writer } = this.#copy;
    await this.#read(to, async (events) => {
      await inTransaction(writer, async () => {
        for (const event of events) await this.#apply(event);
        return new Map([[this.#projection.name, this.#position]]);
      });
      onProgress(this.#position);
    });
  }

  /** In the transaction that holds the live one. */
  async finish(to: Position): Promise<void> {
    await this.#read(to, async (events) => {
      for (const event of events) await this.#apply(event);
    });
  }

  async #read(to: Position, take: (events: readonly RecordedEvent[]) => Promise<void>): Promise<void> {
    if (this.#position >= to) return;
    const reading = new AbortController();
    const subscription = this.#eventStore.subscribe({
      after: this.#position,
      streamPrefixes: streamsOf(this.#projection, this.#scope),
      signal: reading.signal,
    });
    for await (const slice of subscription) {
      this.#position = Math.min(slice.position, to);
      const events = slice.events.filter((event) => event.position <= to);
      await this.#tenants.prepare(events);
      await take(events);
      if (slice.position >= to) break;
    }
    reading.abort();
    this.#position = to;
  }

  async #apply(event: RecordedEvent): Promise<void> {
    const tenant = this.#tenants.evolve(event);
    if (tenant === undefined || !isInScope(event, this.#scope)) return;
    this.events += 1;
    await this.#projection.apply(event, tenant, onlyTable(this.#copy.writer, this.#scope.table));
  }
}

function streamsOf(projection: Projection, { tenant }: RebuildScope): readonly string[] {
  if (tenant === undefined) return projection.streamPrefixes;
  return projection.streamPrefixes.map((prefix) =>
    prefix === TENANT_STREAM_PREFIX ? tenantStream(tenant) : `${prefix}${tenant}.`,
  );
}

/** Prefixes let through more than the scope: `tenant-acme` also begins `tenant-acme2`. */
function isInScope(event: RecordedEvent, scope: RebuildScope): boolean {
  const { category, tenant, rest } = parseStream(event.stream);
  if (scope.tenant !== undefined && tenant !== scope.tenant) return false;
  return scope.table === undefined || `${category}-` !== STREAM_PREFIXES.table || rest === scope.table;
}

/** An event of a tenant or an order changes several tables; a rebuild of one must not write to the others. */
function onlyTable(target: ProjectionTarget, wanted: string | undefined): ProjectionTarget {
  if (wanted === undefined) return target;
  return {
    defineTable: async (table, assetType) => {
      if (table.table === wanted) await target.defineTable(table, assetType);
    },
    applyToTable: async (table, changes, event) => {
      if (table.table === wanted) await target.applyToTable(table, changes, event);
    },
    addHistory: (tenant, orderId, entries) => target.addHistory(tenant, orderId, entries),
    delivery: (tenant, id) => target.delivery(tenant, id),
    putDelivery: (tenant, entry) => target.putDelivery(tenant, entry),
  };
}

/** Applies the log anew to a hidden copy of a read model, as far as it is told and no further. */
import { parseStream, STREAM_PREFIXES } from '../domain/streams.js';
import type { EventStore, Position, RecordedEvent } from '../ports/eventStore.js';
import { type Projection, type ProjectionTarget, streamsOf } from '../ports/projection.js';
import { ReadModelsUnavailableError } from '../ports/readModels.js';
import { MismatchError, type ReadModelRebuild, type RebuildScope } from '../ports/readModelWriter.js';
import { slicesUpTo } from '../projector/logRange.js';
import { inTransaction, ProjectedTenants } from '../projector/transaction.js';

/** What was applied: events, and the changes of single records, entries or deliveries that they carried. */
export type Applied = { readonly events: number; readonly records: number };

/** An event that could not be applied to a copy. The live read model stays as it was. */
export class UnappliedEventError extends Error {
  override readonly name = 'UnappliedEventError';
  constructor(projection: string, { position, type, stream }: RecordedEvent, cause: unknown) {
    const { tenant } = parseStream(stream);
    super(
      `The event at position ${position}, ${type} of tenant ${tenant}, could not be applied to ${projection}: ${reasonsOf(cause)} The live read model stays as it was.`,
      { cause },
    );
  }
}

/** What was thrown, and why: each a sentence. */
function reasonsOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const sentence = /[.!?]$/.test(text) ? text : `${text}.`;
  return error instanceof Error && error.cause !== undefined ? `${sentence} ${reasonsOf(error.cause)}` : sentence;
}

/**
 * A transaction of the copy has about so many changes of records: where one file holds both, the live read models wait for
 * its end, and with them every write that is to be visible.
 */
const RECORDS_AT_ONCE = 1_000;

/** Well within the time after which a rebuild is taken for dead. */
const SIGN_OF_LIFE_MS = 5_000;

/** Feeds the copy from the log, as far as it is told and no further: never beyond the live one. */
export class Replay {
  readonly #eventStore: EventStore;
  readonly #projection: Projection;
  readonly #scope: RebuildScope;
  readonly #copy: ReadModelRebuild;
  readonly #signal: AbortSignal;
  /** Tenants whose events are not applied. */
  readonly #passOver: ReadonlySet<string>;
  readonly #tenants: ProjectedTenants;
  readonly #target: ProjectionTarget;
  /** What `finish` applied, which is committed by the caller: fewer than CLOSE. */
  #last: RecordedEvent[] = [];
  #position: Position = 0;
  #aliveAt = performance.now();
  #events = 0;
  #records = 0;

  constructor(
    eventStore: EventStore,
    projection: Projection,
    scope: RebuildScope,
    copy: ReadModelRebuild,
    { signal, passOver }: { readonly signal: AbortSignal; readonly passOver: ReadonlySet<string> },
  ) {
    this.#eventStore = eventStore;
    this.#tenants = new ProjectedTenants(eventStore);
    this.#projection = projection;
    this.#scope = scope;
    this.#copy = copy;
    this.#signal = signal;
    this.#passOver = passOver;
    const counted = counting(copy.writer, (records) => {
      this.#records += records;
    });
    this.#target = onlyTable(counted, scope.table);
  }

  get applied(): Applied {
    return { events: this.#events, records: this.#records };
  }

  /** In transactions of its own, between which the live read models are written. */
  async advance(to: Position, onProgress: (position: Position) => void): Promise<void> {
    await this.#read(to, async (events) => {
      let left = events;
      do {
        this.#signal.throwIfAborted();
        left = left.slice(await this.#applySome(left));
      } while (left.length > 0);
      onProgress(this.#position);
    });
  }

  /** One transaction. @returns how many of the events it took */
  async #applySome(events: readonly RecordedEvent[]): Promise<number> {
    const enough = this.#records + RECORDS_AT_ONCE;
    let taken = 0;
    const apply = async () => {
      for (const event of events) {
        await this.#apply(event);
        taken += 1;
        if (this.#records >= enough) break;
      }
      const position = taken === events.length ? this.#position : events[taken - 1]?.position;
      return new Map([[this.#projection.name, position ?? this.#position]]);
    };
    await inTransaction(this.#copy.writer, apply).catch((error: unknown) => {
      throw this.named(error, events);
    });
    return taken;
  }

  /** Gives a sign of life where one is due: a copy that nobody writes to is taken for that of a dead rebuild. */
  async keep(): Promise<void> {
    if (performance.now() - this.#aliveAt < SIGN_OF_LIFE_MS) return;
    this.#aliveAt = performance.now();
    await inTransaction(this.#copy.writer, async () => new Map([[this.#projection.name, this.#position]]));
  }

  /** In the transaction that holds the live one. */
  async finish(to: Position): Promise<void> {
    this.#last = [];
    await this.#read(to, async (events) => {
      for (const event of events) await this.#apply(event);
      this.#last.push(...events);
    });
  }

  /** Some engines find out at the commit that a change does not fit. */
  named(error: unknown, events: readonly RecordedEvent[] = this.#last): unknown {
    const event = error instanceof MismatchError && events.find(({ position }) => position === error.mismatch.position);
    return event ? new UnappliedEventError(this.#projection.name, event, error) : error;
  }

  async #read(to: Position, take: (events: readonly RecordedEvent[]) => Promise<void>): Promise<void> {
    const streamPrefixes = streamsOf(this.#projection, this.#scope.tenant);
    const part = { after: this.#position, to, streamPrefixes };
    for await (const { events, position } of slicesUpTo(this.#eventStore, part, this.#signal)) {
      this.#signal.throwIfAborted();
      this.#position = position;
      await this.#tenants.prepare(events);
      await take(events);
    }
    this.#signal.throwIfAborted();
    this.#position = Math.max(this.#position, to);
  }

  async #apply(event: RecordedEvent): Promise<void> {
    if (!isInScope(event, this.#scope) || this.#passOver.has(parseStream(event.stream).tenant)) return;
    try {
      const tenant = this.#tenants.evolve(event);
      if (tenant === undefined) return;
      this.#events += 1;
      await this.#projection.apply(event, tenant, this.#target);
    } catch (error) {
      throw isOfEngine(error) ? error : new UnappliedEventError(this.#projection.name, event, error);
    }
  }
}

/** It says nothing about the event. */
const isOfEngine = (error: unknown): boolean => error instanceof ReadModelsUnavailableError;

/** Tells `onRecords` how many records, entries or deliveries each call changes. */
function counting(target: ProjectionTarget, onRecords: (records: number) => void): ProjectionTarget {
  return {
    delivery: (tenant, id) => target.delivery(tenant, id),
    defineTable: (table, assetType) => target.defineTable(table, assetType),
    dropTenant: (projection, tenant) => target.dropTenant(projection, tenant),
    applyToTable: (table, changes, event) => {
      onRecords(changes.reduce((sum, change) => sum + (change.kind === 'seen' ? change.ids.length : 1), 0));
      return target.applyToTable(table, changes, event);
    },
    addHistory: (tenant, orderId, entries) => {
      onRecords(entries.length);
      return target.addHistory(tenant, orderId, entries);
    },
    putDelivery: (tenant, entry) => {
      onRecords(1);
      return target.putDelivery(tenant, entry);
    },
  };
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
    dropTenant: (projection, tenant) => target.dropTenant(projection, tenant),
  };
}

/** Replays the log into a hidden copy of a read model, up to given positions. */
import { parseStream, STREAM_PREFIXES } from '../domain/streams.js';
import type { EventStore, Position, RecordedEvent } from '../ports/eventStore.js';
import { type Projection, type ProjectionTarget, streamsOf } from '../ports/projection.js';
import { ReadModelsUnavailableError, type TableRef } from '../ports/readModels.js';
import { MismatchError, type ReadModelRebuild, type RebuildScope } from '../ports/readModelWriter.js';
import { inTransaction } from '../projector/applying.js';
import { ProjectedTenants, slicesUpTo } from '../projector/steps.js';

/** Counts of applied events, and of changed records, history entries and deliveries. */
export type Applied = { readonly events: number; readonly records: number };

/** An event that could not be applied to the copy. The live read model stays as it was. */
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

/** The messages of the error and its causes, each a sentence. */
function reasonsOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const sentence = /[.!?]$/.test(text) ? text : `${text}.`;
  return error instanceof Error && error.cause !== undefined ? `${sentence} ${reasonsOf(error.cause)}` : sentence;
}

/** Rough number of record changes in a transaction of the copy: in the same file, live writes wait for its end. */
const RECORDS_AT_ONCE = 1_000;

/** Well within the time after which a silent rebuild is considered dead. */
const SIGN_OF_LIFE_MS = 5_000;

export type ReplayOptions = {
  readonly signal: AbortSignal;
  readonly passOver: ReadonlySet<string>;
  /** The copy has the events up to here already; 0 by default. */
  readonly after?: Position;
};

/** Feeds the copy from the log up to given positions, never beyond the live read model. */
export class Replay {
  readonly #eventStore: EventStore;
  readonly #projection: Projection;
  readonly #scope: RebuildScope;
  readonly #copy: Pick<ReadModelRebuild, 'writer'>;
  readonly #signal: AbortSignal;
  /** Tenants whose events are skipped. */
  readonly #passOver: ReadonlySet<string>;
  readonly #tenants: ProjectedTenants;
  readonly #target: ProjectionTarget;
  /** Events applied by `finish`, which the caller commits: fewer than CLOSE. */
  #last: RecordedEvent[] = [];
  #position: Position = 0;
  #aliveAt = performance.now();
  #events = 0;
  #records = 0;

  constructor(
    eventStore: EventStore,
    projection: Projection,
    scope: RebuildScope,
    copy: Pick<ReadModelRebuild, 'writer'>,
    { signal, passOver, after = 0 }: ReplayOptions,
  ) {
    this.#eventStore = eventStore;
    this.#tenants = new ProjectedTenants(eventStore);
    this.#projection = projection;
    this.#scope = scope;
    this.#copy = copy;
    this.#signal = signal;
    this.#passOver = passOver;
    this.#position = after;
    this.#target = copyTarget(copy.writer, scope.table, (records) => {
      this.#records += records;
    });
  }

  get applied(): Applied {
    return { events: this.#events, records: this.#records };
  }

  /** Applies events in transactions of its own, between which the live read models can be written. */
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

  /** Applies events in one transaction. @returns how many */
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

  /** Commits the position now and then: a copy without commits is considered that of a dead rebuild. */
  async keep(): Promise<void> {
    if (performance.now() - this.#aliveAt < SIGN_OF_LIFE_MS) return;
    this.#aliveAt = performance.now();
    await inTransaction(this.#copy.writer, async () => new Map([[this.#projection.name, this.#position]]));
  }

  /** Applies the last events in the open transaction, while the live read model is held. */
  async finish(to: Position): Promise<void> {
    this.#last = [];
    await this.#read(to, async (events) => {
      for (const event of events) await this.#apply(event);
      this.#last.push(...events);
    });
  }

  /** Names the event of a failure that the engine found at the commit. */
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

/** The error says nothing about the event. */
const isOfEngine = (error: unknown): boolean => error instanceof ReadModelsUnavailableError;

/**
 * Writes to the copy. Passes the number of changed records, entries or deliveries of each call to `onRecords`.
 * @param only the one table to write to: events of tenants and orders change several
 */
function copyTarget(
  target: ProjectionTarget,
  only: string | undefined,
  onRecords: (records: number) => void,
): ProjectionTarget {
  const isWanted = ({ table }: TableRef): boolean => only === undefined || table === only;
  return {
    delivery: (tenant, id) => target.delivery(tenant, id),
    dropTenant: (projection, tenant) => target.dropTenant(projection, tenant),
    async defineTable(table, assetType) {
      if (isWanted(table)) await target.defineTable(table, assetType);
    },
    async applyToTable(table, changes, event) {
      if (!isWanted(table)) return;
      onRecords(changes.reduce((sum, change) => sum + (change.kind === 'seen' ? change.ids.length : 1), 0));
      await target.applyToTable(table, changes, event);
    },
    addHistory(tenant, orderId, entries) {
      onRecords(entries.length);
      return target.addHistory(tenant, orderId, entries);
    },
    addActivity(tenant, entries) {
      onRecords(entries.length);
      return target.addActivity(tenant, entries);
    },
    putDelivery(tenant, entry) {
      onRecords(1);
      return target.putDelivery(tenant, entry);
    },
  };
}

/** Stream prefixes match more than the scope: `tenant-acme` is also a prefix of `tenant-acme2`. */
function isInScope(event: RecordedEvent, scope: RebuildScope): boolean {
  const { category, tenant, rest } = parseStream(event.stream);
  if (scope.tenant !== undefined && tenant !== scope.tenant) return false;
  return scope.table === undefined || `${category}-` !== STREAM_PREFIXES.table || rest === scope.table;
}

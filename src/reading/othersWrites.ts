/**
 * Writes of other machines, on a log that is shared by machines with read models of their own. Each is answered once its own
 * machine shows it, which says nothing of this one. So this process follows the log, and reads wait until the read models
 * show the events of their table that it has seen (`LogEnd` sees to it that it has seen them).
 */
import { MAX_FOLLOWED_STREAMS } from '../domain/limits.js';
import { parseStream, STREAM_PREFIXES } from '../domain/streams.js';
import { type EventStore, type Position, type RecordedEvent, storeWith } from '../ports/eventStore.js';
import type { ProjectionProgress } from '../ports/projectionProgress.js';
import { ReadModelsWithheldError } from '../ports/readModels.js';
import { keepRunning } from '../supervision/keepRunning.js';
import { ORDERS } from './pendingWrites.js';

/** With more streams that are not shown, a read waits for the last of their events and all before it, whoever wrote them. */
const AWAITED_ALONE = 16;
const FOLLOWED = [STREAM_PREFIXES.table, STREAM_PREFIXES.order];
const BACKOFF = { firstMs: 500, longestMs: 5_000 };

type Progress = Pick<ProjectionProgress, 'checkpoint' | 'waitFor' | 'waitForEvent'>;

/** The last event of a stream that reads may not show. */
type Unshown = { readonly waitScope: string; readonly position: Position; readonly since: number };

type Waiter = { readonly position: Position; readonly resolve: () => void };

export class OthersWrites {
  readonly #progress: Progress;
  readonly #longestReadMs: number;
  readonly #stopping = new AbortController();
  /** By tenant and stream. */
  readonly #unshown = new Map<string, Map<string, Unshown>>();
  #count = 0;
  /** Everything up to here may be unshown as well; 0 once it is shown. */
  #floor: Position = 0;
  #floorSince = performance.now();
  #position: Position = 0;
  #waiters: readonly Waiter[] = [];
  #running: Promise<void> = Promise.resolve();
  /** By tenant, the position of the last event that another machine has written. */
  readonly #last = new Map<string, Position>();
  /** Tenants whose last read has waited in vain. */
  readonly #late = new Set<string>();
  /** Ids of events that this process appends: its commands know them, and their own answers wait until they are shown. */
  readonly #own = new Set<string>();

  /** @param longestReadMs a read waits at most this long for an event, counted from when this process saw it */
  constructor(progress: Progress, longestReadMs: number) {
    this.#progress = progress;
    this.#longestReadMs = longestReadMs;
  }

  /** Follows the log in the background. @throws what the log throws at first */
  async follow(eventStore: Pick<EventStore, 'head' | 'subscribe'>, onError: (error: unknown) => void): Promise<void> {
    this.#position = await eventStore.head();
    this.#standAt(this.#position);
    const { signal } = this.#stopping;
    const read = async (succeeded: () => void): Promise<void> => {
      for await (const slice of eventStore.subscribe({ after: this.#position, streamPrefixes: FOLLOWED, signal })) {
        succeeded();
        for (const event of slice.events) if (!this.#own.delete(event.id)) this.#add(event);
        if (this.#count > MAX_FOLLOWED_STREAMS) await this.#makeRoom(slice.position);
        this.#moveTo(slice.position);
      }
    };
    this.#running = keepRunning(read, { signal, backoff: BACKOFF, onFailure: ({ error }) => onError(error) });
  }

  /** The same log, for what this process appends: reads do not wait for that. */
  leavingOut(eventStore: EventStore): EventStore {
    return storeWith(eventStore, {
      append: async (stream, events, ...options) => {
        if (!FOLLOWED.some((prefix) => stream.startsWith(prefix))) return eventStore.append(stream, events, ...options);
        for (const { id } of events) this.#own.add(id);
        const forget = (): void => {
          for (const { id } of events) this.#own.delete(id);
        };
        try {
          const appended = await eventStore.append(stream, events, ...options);
          void this.waitFor(appended.position).then(forget);
          return appended;
        } catch (error) {
          forget();
          throw error;
        }
      },
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** Resolves when this process has seen the log up to there. */
  waitFor(position: Position): Promise<void> {
    if (this.#position >= position) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiters = [...this.#waiters, { position, resolve }];
    });
  }

  /** Whether a read of the tenant may lack a write that was answered before. */
  isLate(tenant: string): boolean {
    return this.#late.has(tenant);
  }

  /** For a read that found nothing. @throws ReadModelsWithheldError if a write answered before may be missing */
  requireShown(tenant: string): void {
    if (this.isLate(tenant)) throw new ReadModelsWithheldError('What was written last is not shown yet.');
  }

  /** The last event of the tenant that was seen of another machine, since the start. */
  lastOf(tenant: string): Position | undefined {
    return this.#last.get(tenant);
  }

  isPending(tenant: string): boolean {
    return this.#floor > 0 || this.#unshown.has(tenant);
  }

  /** Resolves when what was seen of the wait scope is shown, or time is up; undefined if there is nothing. Never rejects. */
  untilShown(tenant: string, waitScope: string): Promise<void> | undefined {
    if (!this.isPending(tenant)) {
      this.#late.delete(tenant);
      return undefined;
    }
    return this.#isShown(tenant, waitScope).then(
      (isShown) => void (isShown ? this.#late.delete(tenant) : this.#late.add(tenant)),
      // The read itself fails with this.
      () => undefined,
    );
  }

  async #isShown(tenant: string, waitScope: string): Promise<boolean> {
    this.#forgetShown(tenant, await this.#progress.checkpoint('records'));
    const unshown = [...(this.#unshown.get(tenant)?.values() ?? [])].filter((each) => each.waitScope === waitScope);
    const last = Math.max(this.#floor, ...unshown.map(({ position }) => position));
    const since = Math.max(this.#floor > 0 ? this.#floorSince : 0, ...unshown.map((each) => each.since));
    if (last === 0) return true;
    const leftMs = since + this.#longestReadMs - performance.now();
    if (leftMs <= 0) return false;
    if (this.#floor > 0 || unshown.length > AWAITED_ALONE) {
      return this.#progress.waitFor('records', last, leftMs, tenant);
    }
    const shown = unshown.map(({ position }) => this.#progress.waitForEvent('records', position, leftMs, tenant));
    return (await Promise.all(shown)).every((each) => each);
  }

  #add({ stream, position }: RecordedEvent): void {
    const { tenant, rest } = parseStream(stream);
    const waitScope = stream.startsWith(STREAM_PREFIXES.table) ? rest : ORDERS;
    const ofTenant = this.#unshown.get(tenant) ?? new Map<string, Unshown>();
    this.#unshown.set(tenant, ofTenant);
    this.#last.set(tenant, position);
    if (!ofTenant.has(stream)) this.#count += 1;
    ofTenant.set(stream, { waitScope, position, since: performance.now() });
  }

  #forgetShown(tenant: string, checkpoint: Position): void {
    if (checkpoint >= this.#floor) this.#floor = 0;
    const ofTenant = this.#unshown.get(tenant);
    if (ofTenant === undefined) return;
    for (const [stream, { position }] of ofTenant) {
      if (position > checkpoint) continue;
      ofTenant.delete(stream);
      this.#count -= 1;
    }
    if (ofTenant.size === 0) this.#unshown.delete(tenant);
  }

  /** @param position that was read to */
  async #makeRoom(position: Position): Promise<void> {
    const checkpoint = await this.#progress.checkpoint('records').catch(() => 0);
    for (const tenant of [...this.#unshown.keys()]) this.#forgetShown(tenant, checkpoint);
    if (this.#count > MAX_FOLLOWED_STREAMS) this.#standAt(position);
  }

  /** Forgets which streams have events up to there. */
  #standAt(position: Position): void {
    this.#floor = position;
    this.#floorSince = performance.now();
    this.#unshown.clear();
    this.#count = 0;
  }

  #moveTo(position: Position): void {
    this.#position = position;
    if (this.#waiters.length === 0) return;
    const reached = this.#waiters.filter((waiter) => waiter.position <= position);
    this.#waiters = this.#waiters.filter((waiter) => waiter.position > position);
    for (const { resolve } of reached) resolve();
  }
}

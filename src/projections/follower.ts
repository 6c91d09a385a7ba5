/**
 * Keeps the rows of all tenants current: reads the log, lets tenants take turns, and keeps how far it has come.
 *
 * One reader reads the log for all. A tenant that cannot keep up with it, that is being filled or retried, is apart: a second
 * reader reads the log for all of those together, and gives them back when it has come to where the first one is. So a slow
 * tenant slows itself.
 */

import { concerns, tenantOf } from '../domain/streams.js';
import type { EventPosition, EventSlice, EventStore, Position, RecordedEvent } from '../ports/eventStore.js';
import { isSameLog } from '../ports/logAnchor.js';
import { copyOf, RowsLostError, type RowWriter } from '../ports/rowStore.js';
import { sleep, WakeUp } from '../supervision/waiting.js';
import { type CopyOptions, FollowedTenant, type SlicesOf } from './followedTenant.js';
import { FollowedTenants, type TenantDeps, Turns } from './followedTenants.js';

/** How much is read ahead, in rows that have to be made. */
const READ_AHEAD = {
  /** A reader waits while its tenants have more than this. */
  all: 20_000,
  /** A tenant with more than this is read by itself, so that the others need not wait for it. */
  ofTenant: 5_000,
};
/** How often the checkpoint is kept, in milliseconds. */
const KEEP_EVERY_MS = 1_000;

export type FollowerDeps = TenantDeps & {
  readonly eventStore: Pick<EventStore, 'subscribe' | 'readStream' | 'head' | 'identity' | 'holds'>;
  readonly writer: RowWriter;
  readonly slicesOf: SlicesOf;
  /** Takes another log as it is. Default: refuses it. */
  readonly acceptLog?: boolean;
  readonly readAhead?: typeof READ_AHEAD;
};

export class Follower {
  readonly #readAhead: typeof READ_AHEAD;
  readonly #tenants: FollowedTenants;
  /** Where the reader for all is. */
  #place: EventPosition = { position: 0 };
  /** Up to where news said that all is applied. */
  #told: Position = 0;
  /** Where the log was at the start. */
  #head: Position = 0;
  readonly #turns: Turns;
  /** Copies have turns as tenants have. */
  readonly #copies = new Set<FollowedTenant>();
  /** Tenants that are copied, and what ends the copy of one whose rows are lost. */
  readonly #copying = new Map<string, AbortController | undefined>();
  readonly #ending = new AbortController();
  readonly #room = new WakeUp();
  readonly #setApart = new WakeUp();
  readonly #roomApart = new WakeUp();

  constructor(private readonly deps: FollowerDeps) {
    this.#readAhead = deps.readAhead ?? READ_AHEAD;
    this.#tenants = new FollowedTenants(deps);
    const onTurnEnd = (): void => {
      this.#tellRead();
      this.#room.wake();
      this.#roomApart.wake();
    };
    this.#turns = new Turns((tenant) => this.#turn(tenant), onTurnEnd);
  }

  /** Runs until the signal aborts. @throws OtherLogError, and what an engine throws: go on with a new follower */
  async run(signal: AbortSignal): Promise<void> {
    const log = await this.deps.eventStore.identity();
    await this.#begin(log);
    this.deps.onNews({ kind: 'begun', marks: this.#tenants.marks() });
    this.deps.onNews({ kind: 'read', position: this.#appliedTo });
    const running = AbortSignal.any([signal, this.#ending.signal]);
    const work = [this.#read(running), this.#readApart(running), this.#turns.run(running)];
    const parts = [...work, this.#keepCheckpoints(log, running)];
    try {
      await Promise.race(parts);
    } finally {
      this.#ending.abort(new Error('The rows are no longer followed here.'));
      await Promise.allSettled(parts);
    }
    if (this.#appliedTo >= this.#place.position) await this.deps.writer.keep({ log, ...this.#place });
  }

  /** False as soon as it ends. */
  has(name: string): boolean {
    return !this.#ending.signal.aborted && this.#tenants.get(name) !== undefined;
  }

  /** Tries a parked tenant again. @returns false if it is not parked */
  retry(name: string): boolean {
    const tenant = this.#tenants.get(name);
    if (tenant?.parked === undefined) return false;
    this.#restart(tenant, tenant.position);
    return true;
  }

  /**
   * Fills a copy of the tenant's rows, and holds the tenant where the copy is while it is used.
   * @returns what `use` returns
   * @throws Error if it is not made here, or an event cannot be applied; the reason of the signal
   */
  async withCopy<T>(name: string, options: CopyOptions, use: () => Promise<T>): Promise<T> {
    const tenant = this.#tenants.get(name);
    if (tenant === undefined) throw new Error(`The rows of ${name} are not made here.`);
    if (this.#copying.has(name)) throw new Error(`The rows of ${name} are being copied already.`);
    this.#copying.set(name, undefined);
    try {
      await this.#untilFilled(tenant, options.signal);
      return await this.#useCopy(tenant, options, use);
    } finally {
      this.#copying.delete(name);
    }
  }

  async #useCopy<T>(tenant: FollowedTenant, options: CopyOptions, use: () => Promise<T>): Promise<T> {
    const { name, parked, position } = tenant;
    const lost = new AbortController();
    this.#copying.set(name, lost);
    const signal = AbortSignal.any([options.signal, lost.signal]);
    const copied = new FollowedTenant(copyOf(name), { position: 0 });
    await this.deps.writer.remove(copied.name);
    this.#copies.add(copied);
    try {
      await this.#fillCopy(copied, tenant, { ...options, signal });
      signal.throwIfAborted();
      return await use();
    } catch (error) {
      if (parked !== undefined) tenant.park(parked, position);
      throw error;
    } finally {
      copied.forgetWaiting();
      this.#turns.leave(copied);
      while (copied.isBusy) await copied.turnEnded.wait(undefined);
      this.#copies.delete(copied);
      await this.deps.writer.remove(copied.name);
      tenant.isSuspended = false;
      this.#turns.wake(tenant);
    }
  }

  /** Looks at the rows, and waits while they are filled. */
  async #untilFilled(tenant: FollowedTenant, signal: AbortSignal): Promise<void> {
    try {
      await tenant.find(this.deps.writer);
    } catch (error) {
      if (!(error instanceof RowsLostError)) throw error;
      this.#refill(tenant, error);
    }
    const either = AbortSignal.any([signal, this.#ending.signal]);
    const isFilling = () => tenant.mark === 'filling' && this.#tenants.has(tenant);
    while (isFilling() && !either.aborted) await tenant.turnEnded.wait(undefined, either);
    either.throwIfAborted();
    if (!this.#tenants.has(tenant)) throw new Error(`The rows of ${tenant.name} are not made here.`);
  }

  /** Takes the copy in place of the tenant's rows. */
  async swap(name: string): Promise<void> {
    await this.deps.writer.swap(name);
    const tenant = this.#tenants.get(name);
    if (tenant?.mark === undefined) return;
    tenant.mark = undefined;
    this.deps.onNews({ kind: 'applied', tenant: name, position: tenant.position });
    this.deps.onNews({ kind: 'running', tenant: name });
  }

  /** Finds where to go on, and which tenants have to be read by themselves. */
  async #begin(log: string): Promise<void> {
    this.#head = await this.deps.eventStore.head();
    const kept = await this.#keptPlace();
    if (kept === undefined) await this.#removeAll(log);
    this.#place = kept ?? { position: 0 };
    await this.#tenants.begin(this.#head, this.#place.position);
  }

  /** Undefined: the rows are not of this log. @throws OtherLogError if another log is not accepted */
  async #keptPlace(): Promise<EventPosition | undefined> {
    const { eventStore, writer, acceptLog = false } = this.deps;
    const kept = await writer.checkpoint();
    const isAhead = [...(await writer.tenants()).values()].some(({ position }) => position > this.#head);
    const isSame = kept && (await isSameLog(eventStore, kept, { whose: 'The rows', acceptLog }));
    return isSame && !isAhead ? kept : undefined;
  }

  async #removeAll(log: string): Promise<void> {
    const { writer, onNews } = this.deps;
    const tenants = await writer.tenants();
    if (tenants.size > 0) onNews({ kind: 'reset' });
    for (const name of tenants.keys()) await writer.remove(name);
    await writer.keep({ log, position: 0 });
  }

  /** For all tenants that are not apart. */
  async #read(signal: AbortSignal): Promise<void> {
    let isLive = false;
    for await (const slice of this.deps.eventStore.subscribe({ after: this.#place.position, signal })) {
      await this.#tenants.know(slice.events);
      this.#setApart.wake();
      const isAtHead = this.#place.position < this.#head && slice.position >= this.#head;
      // All of a slice at once: the other reader, and copies, compare with this place.
      for (const event of slice.events) {
        const tenant = this.#tenants.get(tenantOf(event));
        if (tenant !== undefined && (!tenant.isApart || event.type === 'TenantDeleted')) this.#offer(tenant, event);
      }
      this.#place = { position: slice.position, eventId: slice.eventId };
      if (isAtHead) for (const tenant of this.#tenants) this.#turns.wake(tenant);
      this.#tellRead();
      isLive ||= slice.caughtUp;
      if (isLive) this.#letGo();
      while (this.#waitingItems(false) > this.#readAhead.all && !signal.aborted)
        await this.#room.wait(undefined, signal);
    }
  }

  /** Tenants that cannot keep up go on by themselves, from what they have got. */
  #letGo(): void {
    for (const tenant of this.#turns.open) {
      if (tenant.isApart || this.#copies.has(tenant) || tenant.items <= this.#readAhead.ofTenant) continue;
      tenant.isApart = true;
      tenant.readTo = this.#place.position;
      this.#setApart.wake();
    }
  }

  /** For tenants that are apart: all those at once in one pass. */
  async #readApart(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const apart = [...this.#tenants].filter(({ isApart, parked }) => isApart && parked === undefined);
      if (apart.length === 0) await this.#setApart.wait(undefined, signal);
      else await this.#pass(new Map(apart.map((tenant) => [tenant.name, tenant])), signal);
    }
  }

  /** Ends where the reader for all is; from there on, it has the tenants. One that has begun once more is in the next pass. */
  async #pass(tenants: ReadonlyMap<string, FollowedTenant>, signal: AbortSignal): Promise<void> {
    const begun = new Map([...tenants.values()].map((tenant) => [tenant, tenant.begun]));
    const isHere = (tenant: FollowedTenant): boolean => tenant.isApart && tenant.begun === begun.get(tenant);
    const after = Math.min(...[...tenants.values()].map(({ readTo }) => readTo));
    for await (const slice of this.#slicesOf(new Set(tenants.keys()), after, signal)) {
      const isOver = slice.position >= this.#place.position;
      for (const event of slice.events) {
        const tenant = tenants.get(tenantOf(event) ?? '');
        if (tenant !== undefined && isHere(tenant) && this.#tenants.has(tenant)) this.#offer(tenant, event);
      }
      for (const tenant of [...tenants.values()].filter(isHere)) {
        tenant.readTo = Math.max(tenant.readTo, slice.position);
        if (!isOver || tenant.parked !== undefined) continue;
        tenant.isApart = false;
        tenant.shownFrom = this.#place.position;
        this.#turns.wake(tenant);
      }
      if (isOver) return;
      while (this.#waitingItems(true) > this.#readAhead.all && !signal.aborted)
        await this.#roomApart.wait(undefined, signal);
    }
  }

  #slicesOf(tenants: ReadonlySet<string>, after: Position, signal: AbortSignal): AsyncIterable<EventSlice> {
    return this.deps.eventStore.subscribe({ after, accepts: (stream) => concerns(stream, tenants), signal });
  }

  #offer(tenant: FollowedTenant, event: RecordedEvent): void {
    tenant.offer(event);
    this.#turns.wake(tenant);
  }

  #waitingItems(isApart: boolean): number {
    const waiting = this.#turns.open.filter((each) => each.isApart === isApart && !this.#copies.has(each));
    return waiting.reduce((sum, { items }) => sum + items, 0);
  }

  /** Reads the tenant by itself, from this position. */
  #restart(tenant: FollowedTenant, position: Position): void {
    tenant.restart(position);
    this.#setApart.wake();
  }

  async #turn(tenant: FollowedTenant): Promise<void> {
    const { writer, slicesOf, onNews } = this.deps;
    const isCopy = this.#copies.has(tenant);
    const { name } = tenant;
    if (!isCopy && !this.#tenants.has(tenant)) return;
    if (tenant.hasTurn) {
      const onApplied = (position: Position): void => {
        if (!isCopy) onNews({ kind: 'applied', tenant: name, position });
      };
      try {
        const end = await tenant.turn(writer, slicesOf, onApplied);
        if (end === 'deleted') await this.#tenants.delete(tenant);
        else if (end === 'parked' && !isCopy) await this.#park(tenant);
      } catch (error) {
        if (!(error instanceof RowsLostError) || isCopy) throw error;
        this.#refill(tenant, error);
      }
    }
    if (this.#tenants.has(tenant)) await this.#showIfDue(tenant);
  }

  #refill(tenant: FollowedTenant, error: RowsLostError): void {
    this.#copying.get(tenant.name)?.abort(error);
    tenant.mark = 'filling';
    this.#restart(tenant, 0);
    this.deps.onNews({ kind: 'filling', tenant: tenant.name, reason: error.message });
  }

  async #park(tenant: FollowedTenant): Promise<void> {
    const { name, parked } = tenant;
    if (parked === undefined) return;
    await this.deps.writer.mark(name, parked);
    tenant.mark = parked;
    this.deps.onNews({ kind: 'parked', tenant: name, parked });
  }

  /** A tenant that was filled or retried is shown once it has come to where the others were. */
  async #showIfDue(tenant: FollowedTenant): Promise<void> {
    const { mark, parked, isApart, shownFrom, next, isWhole } = tenant;
    if (mark === undefined || parked !== undefined || isApart || !isWhole) return;
    if (shownFrom > this.#place.position || (next !== undefined && next.position <= shownFrom)) return;
    await this.deps.writer.mark(tenant.name, undefined);
    tenant.mark = undefined;
    this.deps.onNews({ kind: 'running', tenant: tenant.name });
  }

  /** Fills the copy up to where the tenant is, and suspends the tenant there. */
  async #fillCopy(copied: FollowedTenant, tenant: FollowedTenant, options: CopyOptions): Promise<void> {
    const { onProgress, toEnd = false } = options;
    const signal = AbortSignal.any([options.signal, this.#ending.signal]);
    const end = (): Position => (toEnd && tenant.parked !== undefined ? this.#place.position : tenant.position);
    for await (const slice of this.#slicesOf(new Set([tenant.name]), 0, signal)) {
      if (slice.position >= end()) await this.#suspend(tenant, signal);
      for (const event of slice.events) {
        if (tenantOf(event) === tenant.name && event.position <= end()) this.#offer(copied, event);
      }
      copied.readTo = Math.min(slice.position, end());
      const isAhead = () =>
        tenant.isSuspended ? copied.next !== undefined || !copied.isWhole : copied.items > this.#readAhead.all;
      while (isAhead() && !signal.aborted) {
        await copied.turnEnded.wait(undefined, signal);
        onProgress?.(copied.position, end());
        if (copied.parked === undefined) continue;
        const { eventType, position, error } = copied.parked;
        throw new Error(`The event ${eventType} at position ${position} cannot be applied: ${error}`);
      }
      signal.throwIfAborted();
      onProgress?.(copied.position, end());
      if (!tenant.isSuspended || copied.readTo < end()) continue;
      if (toEnd) this.#join(tenant, copied.readTo);
      return;
    }
    signal.throwIfAborted();
  }

  /** Waits until nothing of the tenant is half done. */
  async #suspend(tenant: FollowedTenant, signal: AbortSignal): Promise<void> {
    tenant.isSuspended = true;
    while (!tenant.isWhole && !signal.aborted) await tenant.turnEnded.wait(undefined, signal);
  }

  /** A parked tenant goes on with the others, as its copy is where they are. */
  #join(tenant: FollowedTenant, position: Position): void {
    if (tenant.parked === undefined) return;
    tenant.restart(position);
    tenant.isApart = false;
  }

  /** As soon as nothing waits. */
  #tellRead(): void {
    if (this.#turns.open.length > 0 || this.#told >= this.#place.position) return;
    this.#told = this.#appliedTo;
    this.deps.onNews({ kind: 'read', position: this.#told });
  }

  get #appliedTo(): Position {
    return this.#tenants.appliedTo(this.#place.position);
  }

  /** Keeps how far all events are applied, so that the next start reads little, and tells which tenants are behind. */
  async #keepCheckpoints(log: string, signal: AbortSignal): Promise<void> {
    let [kept, next] = [this.#place, this.#place];
    // What the follower before has told.
    let wasAnyBehind = true;
    while (!signal.aborted) {
      await sleep(KEEP_EVERY_MS, signal);
      const since = this.#tenants.behind();
      if (since.size > 0 || wasAnyBehind) this.deps.onNews({ kind: 'behind', since });
      wasAnyBehind = since.size > 0;
      const isApplied = this.#appliedTo >= next.position;
      const checkpoint = isApplied && next.position > kept.position ? { log, ...next } : undefined;
      for (const error of await this.deps.writer.keep(checkpoint)) {
        const tenant = this.#tenants.get(error.tenant);
        if (tenant !== undefined) this.#refill(tenant, error);
      }
      if (isApplied) [kept, next] = [next, this.#place];
    }
  }
}

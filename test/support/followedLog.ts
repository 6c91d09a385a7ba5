/** A log of tenants with items, and followers that make rows of it, in memory. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteEventStore } from '#app/adapters/eventstore/sqlite/store.js';
import { tableStream, tenantStream } from '#app/domain/streams.js';
import type { EventStore, EventToAppend, Position } from '#app/ports/eventStore.js';
import type { RowWriter } from '#app/ports/rowStore.js';
import { Follower, type FollowerDeps } from '#app/projections/follower.js';
import type { FollowerNews } from '#app/projections/progress.js';
import { slicesOf } from '#app/projections/rows.js';
import type { MemoryRows } from './memoryRows.js';

const OPTIONS = { deliveryLogDays: 30 };

export class FollowedLog {
  readonly store: EventStore;
  readonly #directory: string;

  private constructor(store: EventStore, directory: string) {
    this.store = store;
    this.#directory = directory;
  }

  static async open(): Promise<FollowedLog> {
    const directory = await mkdtemp(join(tmpdir(), 'dynamic-assets-'));
    const file = join(directory, 'events.db');
    return new FollowedLog(await openSqliteEventStore({ file, durability: 'normal' }), directory);
  }

  async close(): Promise<void> {
    await this.store.close();
    await rm(this.#directory, { recursive: true });
  }

  create(tenant: string): Promise<Position> {
    const data = { name: tenant, displayName: tenant, orderModel: 'dyn_stock_order' };
    return this.#append(tenantStream(tenant), tenant, 'TenantCreated', data);
  }

  delete(tenant: string): Promise<Position> {
    return this.#append(tenantStream(tenant), tenant, 'TenantDeleted', { name: tenant });
  }

  /** A new item. */
  item(tenant: string, name: string, id: string = randomUUID()): Promise<Position> {
    return this.#table(tenant, 'RecordCreated', { id, fields: { name } });
  }

  items(tenant: string, count: number, batchId = 'old'): Promise<Position> {
    const created = Array.from({ length: count }, (_, n) => ({ id: randomUUID(), fields: { name: `Item ${n}` } }));
    return this.#table(tenant, 'BatchUpserted', { batchId, created, changed: [], seen: '' });
  }

  cleanUp(tenant: string, deleted: number): Promise<Position> {
    return this.#table(tenant, 'TableCleanedUp', { batchId: 'new', deleted });
  }

  #table(tenant: string, type: string, data: unknown): Promise<Position> {
    return this.#append(tableStream(tenant, 'dyn_item'), tenant, type, data);
  }

  async #append(stream: string, tenant: string, type: string, data: unknown): Promise<Position> {
    const id = randomUUID();
    const event: EventToAppend = {
      id,
      type,
      data,
      metadata: {
        tenant,
        actor: { kind: 'client', id: 'erp', name: 'ERP' },
        correlationId: id,
        causationId: id,
        occurredAt: new Date().toISOString().replace('Z', '000Z'),
        schemaVersion: 1,
      },
    };
    return (await this.store.append(stream, [event], 'any')).position;
  }
}

/** A follower at work. */
export class Following {
  readonly follower: Follower;
  readonly news: FollowerNews[] = [];
  readonly ended: Promise<void>;
  readonly #stopping = new AbortController();
  #waiting: (() => void)[] = [];

  constructor(log: FollowedLog, writer: RowWriter, deps: Partial<FollowerDeps> = {}) {
    this.follower = new Follower({
      eventStore: log.store,
      writer,
      slicesOf: (tenant, events, store) => slicesOf(tenant, events, store, OPTIONS),
      ...deps,
      onNews: (news) => {
        this.news.push(news);
        for (const look of this.#waiting.splice(0)) look();
      },
    });
    this.ended = this.follower.run(this.#stopping.signal);
    // Awaited by `stop`, or by the test.
    this.ended.catch(() => undefined);
  }

  /** Resolves as soon as there is such news, old or new. */
  async until(isIt: (news: FollowerNews) => boolean): Promise<FollowerNews> {
    for (;;) {
      const found = this.news.find(isIt);
      if (found !== undefined) return found;
      await Promise.race([new Promise<void>((resolve) => this.#waiting.push(resolve)), this.#failure()]);
    }
  }

  applied(tenant: string, position: Position): Promise<FollowerNews> {
    return this.until((news) => news.kind === 'applied' && news.tenant === tenant && news.position >= position);
  }

  parked(tenant: string): Promise<FollowerNews> {
    return this.until((news) => news.kind === 'parked' && news.tenant === tenant);
  }

  running(tenant: string): Promise<FollowerNews> {
    return this.until((news) => news.kind === 'running' && news.tenant === tenant);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.ended;
  }

  async #failure(): Promise<void> {
    await this.ended;
    throw new Error('The follower has ended.');
  }
}

/** The names of a tenant's items, in the order of their creation. */
export const namesIn = (rows: MemoryRows, tenant: string): readonly unknown[] =>
  (rows.stored.get(tenant)?.spaces.get('dyn_item')?.rows ?? []).map(({ fields }) => fields.name);

/** A log in memory, whose process may die before or after an append is stored; and what decisions read of its tables. */
import { type Application, openApplication } from '#app/commands/application.js';
import type { Commands } from '#app/commands/context.js';
import { effectsOf, tableEffects } from '#app/domain/effects.js';
import { standardTables } from '#app/domain/identity/tenantTables.js';
import type { ReferenceTableEvent } from '#app/domain/referenceTable/events.js';
import { KEYS, SYNCS } from '#app/domain/spaces.js';
import { tableStream } from '#app/domain/streams.js';
import {
  type EventToAppend,
  type RecordedEvent,
  type SliceRange,
  WrongExpectedRevisionError,
} from '#app/ports/eventStore.js';
import type { PageQuery, RowsQuery, SpaceRef } from '#app/ports/rowStore.js';
import type { StoredRecord } from '#app/queries/asking.js';
import type { TableRef } from '#app/queries/records.js';
import { sliceOf } from '../../contract/eventStoreFixtures.js';

const KNOWN = { orderModel: 'dyn_stock_order', assetTypes: standardTables('dyn_stock_order') };

export class LogInMemory {
  readonly #streams = new Map<string, RecordedEvent[]>();
  #position = 0;
  #ids = 0;
  #minutes = 0;
  #asked = 0;
  #dies: { readonly at: number; readonly stored: boolean } | undefined;
  #before: { readonly stream: string; readonly work: () => Promise<unknown> } | undefined;

  /** For one process; another one has its own. */
  commands(): Application {
    return openApplication({
      eventStore: {
        append: async (stream: string, events: readonly EventToAppend[], expected: number | 'no-stream') => {
          const before = this.#before?.stream === stream ? this.#before.work : undefined;
          if (before !== undefined) this.#before = undefined;
          await before?.();
          this.#asked += 1;
          const isDying = this.#dies?.at === this.#asked;
          if (isDying && this.#dies?.stored === false) throw new Error('died');
          const result = this.#append(stream, events, expected);
          if (isDying) throw new Error('died');
          return result;
        },
        readSlice: async (stream: string, range: SliceRange) => sliceOf(this.stream(stream), range),
        lastAppend: async (stream: string) => this.stream(stream).at(-1),
        head: async () => this.#position,
      },
      queries: {
        records: {
          snapshot: async (table: TableRef) => ({ ...this.#table(table), formerIds: new Map() }),
          outsideBatch: async (table: TableRef, batchId: string) => {
            const { records: all, ...end } = this.#table(table);
            const outside = all.filter((record) => record.batchId !== batchId);
            return { ...end, count: outside.length, inside: all.length - outside.length, keys: [] };
          },
        },
      },
      rows: {
        rows: async ({ space }: SpaceRef, { ids }: RowsQuery) => {
          if (space === SYNCS.name) return { rows: this.#syncs().filter(({ id }) => ids.includes(id)) };
          return { rows: ids.flatMap((id) => this.#keyUse(id) ?? []) };
        },
        page: async (_: SpaceRef, { behind = -1 }: PageQuery) => ({
          rows: this.#syncs().filter(({ n }) => n > behind),
        }),
      },
      directory: { tenant: () => undefined },
      progress: { isTold: true, waitFor: async () => true },
      now: () => new Date(Date.UTC(2026, 10, 22, 0, this.#minutes++)).toISOString().replace('Z', '000Z'),
      newId: () => `00000000-0000-7000-8000-${String(++this.#ids).padStart(12, '0')}`,
    } as unknown as Commands);
  }

  /** Counted from now on. */
  dieAtAppend(at: number, stored: boolean): void {
    this.#asked = 0;
    this.#dies = { at, stored };
  }

  /** What another process does before the next append to the stream: that append conflicts, and is decided again. */
  beforeAppend(stream: string, work: () => Promise<unknown>): void {
    this.#before = { stream, work };
  }

  streams(category: string): readonly string[] {
    return [...this.#streams.keys()].filter((stream) => stream.startsWith(`${category}-`));
  }

  stream(name: string): readonly RecordedEvent[] {
    return this.#streams.get(name) ?? [];
  }

  #append(stream: string, events: readonly EventToAppend[], expected: number | 'no-stream') {
    const stored = this.#streams.get(stream) ?? [];
    if ((expected === 'no-stream' ? -1 : expected) !== stored.length - 1) {
      throw new WrongExpectedRevisionError(stream, expected, stored.length - 1);
    }
    for (const event of events) stored.push({ ...event, stream, revision: stored.length, position: ++this.#position });
    this.#streams.set(stream, stored);
    return { revision: stored.length - 1, position: this.#position };
  }

  #all(): readonly RecordedEvent[] {
    return [...this.#streams.values()].flat().toSorted((a, b) => a.position - b.position);
  }

  /** The rows of sync sessions, of one table. */
  #syncs() {
    const rows: { n: number; id: string; created: string; updated: string; fields: Record<string, unknown> }[] = [];
    for (const event of this.#all()) {
      const at = event.metadata.occurredAt;
      for (const effect of effectsOf(event, KNOWN).rows) {
        if (!('space' in effect) || effect.space !== SYNCS.name) continue;
        if (effect.kind === 'create')
          rows.push({ n: rows.length, id: effect.id, created: at, updated: at, fields: { ...effect.fields } });
        const row = effect.kind === 'patch' ? rows.find(({ id }) => id === effect.id) : undefined;
        if (row === undefined || effect.kind !== 'patch') continue;
        Object.assign(row, { updated: at, fields: { ...row.fields, ...effect.set } });
      }
    }
    return rows.map(({ fields, ...row }) => ({ ...row, data: JSON.stringify(fields) }));
  }

  /** The row of an Idempotency-Key; each use begins it again. */
  #keyUse(id: string) {
    const events = this.#all();
    let data: string | undefined;
    for (const effect of events.flatMap((event) => effectsOf(event, KNOWN).rows))
      if (effect.kind === 'create' && effect.space === KEYS.name && effect.id === id)
        data = JSON.stringify(effect.fields);
    return data === undefined ? undefined : { id, data };
  }

  #table({ tenant, table }: TableRef) {
    const records = new Map<string, StoredRecord>();
    const events = this.stream(tableStream(tenant, table));
    for (const { type, data, metadata } of events) {
      const { occurredAt: at } = metadata;
      for (const effect of tableEffects({ type, data } as ReferenceTableEvent, table)) {
        if (effect.kind === 'create') {
          const { id, batch: batchId, fields } = effect;
          records.set(id, { id, createdAt: at, updatedAt: at, batchId, fields });
        }
        const ids = effect.kind === 'patch' ? [effect.id] : effect.kind === 'touch' ? effect.ids : [];
        for (const record of ids.flatMap((id) => records.get(id) ?? [])) {
          const fields = effect.kind === 'patch' ? { ...record.fields, ...effect.set } : record.fields;
          const { batch: batchId = record.batchId } = effect as { readonly batch?: string | null };
          records.set(record.id, { ...record, fields, batchId });
        }
        if (effect.kind === 'delete') records.delete(effect.id);
        if (effect.kind === 'cleanUp') {
          for (const { id, batchId } of [...records.values()]) if (batchId !== effect.batch) records.delete(id);
        }
      }
    }
    const last = events.at(-1);
    return {
      records: [...records.values()],
      revision: last?.revision ?? -1,
      lastEventAt: last?.metadata.occurredAt ?? '',
    };
  }
}

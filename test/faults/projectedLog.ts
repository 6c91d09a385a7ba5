/** Events of two tables and some orders, made up at random, and what read models must show once all are projected. */

import type { RecordChange } from '#app/domain/referenceTable/changes.js';
import type { DeliveryLogEntry } from '#app/ports/deliveryLog.js';
import type { TableRef } from '#app/ports/readModels.js';
import type { ReadModels } from '#app/ports/readSide.js';
import {
  at,
  attempt,
  delivery,
  historyEntry,
  id,
  places,
  placesWithRegion,
  query,
  recordsOn,
} from '../contract/readModelsFixture.js';
import { seeded } from './seeded.js';

const TABLES = ['places', 'towns'];

type Row = { batchId: string | null; fields: Record<string, unknown>; updatedAt: string };
type Event = {
  readonly table: string;
  readonly define?: 'first' | 'later';
  readonly changes?: readonly RecordChange[];
  readonly revision: number;
  readonly at: string;
  readonly history?: { readonly orderId: string; readonly entry: ReturnType<typeof historyEntry> };
  readonly delivery?: DeliveryLogEntry;
};

export class ProjectedLog {
  readonly assetTypes = { first: places, later: placesWithRegion };
  readonly events: Event[] = [];
  readonly tables = new Map(TABLES.map((table) => [table, new Map<string, Row>()]));
  readonly revisions = new Map(TABLES.map((table) => [table, -1]));
  /** By the id of what clean-ups have deleted: what it was when the last of them did. */
  readonly deleted = new Map(TABLES.map((table) => [table, new Map<string, Row & { cleanUp: number }>()]));
  readonly entries = new Map<string, unknown[]>();
  readonly deliveries = new Map<string, DeliveryLogEntry>();
  /** When the last call of each webhook succeeded, and the first failed after it. */
  readonly healths = new Map<string, { lastSuccessAt: string | null; failingSince: string | null }>();
  #ids = 0;

  constructor(events: number) {
    for (const table of TABLES) this.events.push({ table, define: 'first', revision: 0, at: at(0) });
    while (this.events.length < events) this.#add(TABLES[pick(TABLES.length)] ?? '', events);
  }

  #add(table: string, events: number): void {
    const rows = this.tables.get(table) ?? new Map();
    const revision = (this.revisions.get(table) ?? -1) + 1;
    this.revisions.set(table, revision);
    const time = at(this.events.length);
    const common = { table, revision, at: time };
    if (this.events.length === Math.floor(events / 2)) this.events.push({ ...common, define: 'later', changes: [] });
    else if (pick(5) === 0) this.events.push({ ...common, changes: [], history: this.#history() });
    else if (pick(3) === 0) this.events.push({ ...common, changes: [], delivery: this.#delivery(time) });
    else this.events.push({ ...common, changes: this.#changes(table, rows, { revision, time }) });
  }

  #history(): NonNullable<Event['history']> {
    const orderId = id(pick(5));
    const entries = this.entries.get(orderId) ?? [];
    this.entries.set(orderId, entries);
    const entry = historyEntry(entries.length);
    entries.push(entry);
    return { orderId, entry };
  }

  /** A new one, or the next attempt of one that is open. */
  #delivery(time: string): DeliveryLogEntry {
    const open = [...this.deliveries.values()].filter(({ state }) => state === 'open');
    const before = open[pick(2 * open.length)];
    const entry = before === undefined ? this.#newDelivery(time) : this.#attempted(before, time);
    this.deliveries.set(entry.id, entry);
    return entry;
  }

  #newDelivery(time: string): DeliveryLogEntry {
    const number = this.deliveries.size;
    return delivery(number, { position: this.events.length + 1, requestedAt: time, webhookId: `hook${number % 2}` });
  }

  #attempted(before: DeliveryLogEntry, time: string): DeliveryLogEntry {
    const succeeds = pick(3) === 0;
    const health = this.healths.get(before.webhookId) ?? { lastSuccessAt: null, failingSince: null };
    const made = attempt(before.attempts.length + 1, this.events.length, succeeds ? null : 'HTTP 500');
    if (succeeds) Object.assign(health, { lastSuccessAt: time, failingSince: null });
    else health.failingSince ??= time;
    this.healths.set(before.webhookId, health);
    return {
      ...before,
      revision: before.revision + 1,
      attempts: [...before.attempts, made],
      ...(succeeds ? { state: 'succeeded', endedAt: time } : {}),
    };
  }

  #changes(
    table: string,
    rows: Map<string, Row>,
    { revision, time }: { readonly revision: number; readonly time: string },
  ): readonly RecordChange[] {
    const deleted = this.deleted.get(table) ?? new Map();
    const batchId = ['one', 'two', 'three'][pick(3)] ?? '';
    const known = [...rows.keys()].filter(() => pick(2) === 0);
    switch (pick(10)) {
      case 0:
        for (const [key, row] of rows) {
          if (row.batchId === batchId) continue;
          rows.delete(key);
          deleted.set(key, { ...row, cleanUp: revision });
        }
        return [{ kind: 'cleanUp', batchId }];
      case 1:
      case 2:
        for (const key of known) Object.assign(rows.get(key) ?? {}, { batchId });
        return [{ kind: 'seen', ids: known, batchId }];
      case 3: {
        const [key] = known;
        if (key === undefined) return [];
        rows.delete(key);
        return [{ kind: 'delete', id: key }];
      }
      case 4:
      case 5:
        return known.map((key) => {
          const set = { name: `Changed at ${time}` };
          const row = rows.get(key);
          Object.assign(row?.fields ?? {}, set);
          Object.assign(row ?? {}, { updatedAt: time });
          return { kind: 'patch', id: key, at: time, set };
        });
      case 6:
        // Some come back, with their ids.
        return [...deleted].flatMap(([key, { fields }]) => {
          if (rows.has(key) || pick(2) === 0) return [];
          rows.set(key, { batchId, fields: { ...fields }, updatedAt: time });
          return [{ kind: 'insert' as const, id: key, at: time, batchId, fields: { ...fields } }];
        });
      default:
        return Array.from({ length: 1 + pick(30) }, () => {
          this.#ids += 1;
          const fields = { code: `C${this.#ids}`, name: 'New', size: this.#ids, open: null, notes: null };
          rows.set(id(this.#ids), { batchId, fields: { ...fields }, updatedAt: time });
          return { kind: 'insert', id: id(this.#ids), at: time, batchId, fields };
        });
    }
  }
}

const random = seeded(Number(process.env.SEED ?? 1));
export const pick = (below: number): number => Math.floor(random() * below);

/** Checks records, batches, counts, revisions, histories, the delivery log and the checkpoint. */
export async function expectProjected(readModels: ReadModels, log: ProjectedLog): Promise<void> {
  expect(await readModels.checkpoint('records')).toBe(log.events.length);
  for (const [table, rows] of log.tables) {
    const ref = { tenant: 'acme', table };
    const page = await readModels.list(ref, query({ limit: 100_000 }));
    expect(page.total).toBe(rows.size);
    const ids = recordsOn<{ id: string }>(page).map((record) => record.id);
    expect(ids.sort()).toEqual([...rows.keys()].sort());
    const snapshot = await readModels.snapshot(ref, { keys: [], ids: [...rows.keys()] });
    expect(snapshot.revision).toBe(log.revisions.get(table));
    for (const { id: key, batchId, fields, updatedAt } of snapshot.records) {
      const row = rows.get(key);
      expect({ batchId, updatedAt, fields }).toEqual({ ...row, fields: expect.objectContaining(row?.fields ?? {}) });
    }
    await expectDeleted(readModels, ref, { rows, deleted: log.deleted.get(table) ?? new Map() });
    const outside = [...rows.values()].filter(({ batchId }) => batchId !== 'one').length;
    expect(await readModels.countOutsideBatch(ref, 'one')).toMatchObject({ count: outside });
  }
  for (const [orderId, entries] of log.entries) {
    const history = await readModels.history('acme', orderId, { page: 1, perPage: 1_000 });
    const shown = history.entries.map(({ changes, ...entry }) => ({ ...entry, changes: JSON.parse(changes) }));
    expect([shown, history.total]).toEqual([entries, entries.length]);
  }
  for (const [webhookId, health] of log.healths) {
    const entries = [...log.deliveries.values()].filter((each) => each.webhookId === webhookId);
    expect(await readModels.deliveries('acme', { webhookId, order: 'oldest', limit: 1_000 })).toEqual(entries);
    expect(await readModels.webhookHealth('acme', webhookId)).toEqual(health);
  }
}

/** What clean-ups have deleted is kept: the ids of keys that are free, and the records of each clean-up. */
async function expectDeleted(
  readModels: ReadModels,
  ref: TableRef,
  { rows, deleted }: { rows: ReadonlyMap<string, Row>; deleted: ReadonlyMap<string, Row & { cleanUp: number }> },
): Promise<void> {
  const keys = [...deleted.values()].map(({ fields }) => String(fields.code));
  const { formerIds } = await readModels.snapshot(ref, { keys, ids: [] });
  const free = [...deleted].filter(([key]) => !rows.has(key));
  expect(formerIds).toEqual(new Map(free.map(([key, { fields }]) => [fields.code, key])));
  for (const cleanUp of new Set([...deleted.values()].map((each) => each.cleanUp))) {
    const { records } = await readModels.deletedRecords(ref, cleanUp, { limit: 100_000 });
    const ofCleanUp = [...deleted].filter(([, each]) => each.cleanUp === cleanUp).sort(([a], [b]) => (a < b ? -1 : 1));
    expect(records).toEqual(
      ofCleanUp.map(([key, { batchId, fields }]) => ({ id: key, batchId, fields: expect.objectContaining(fields) })),
    );
  }
}

/** Rows and their versions, made of random histories, are at each position what the domain says of the events so far. */
import fc from 'fast-check';
import type { Fields } from '#app/domain/assetTypes/fieldTypes.js';
import { stockModel } from '#app/domain/assetTypes/stockModel.js';
import { approveOrder, deliverExport, failExport, rejectOrder } from '#app/domain/order/approval.js';
import { addPart, createOrder, removePart, updateOrder, updatePart } from '#app/domain/order/decide.js';
import type { OrderEvent } from '#app/domain/order/events.js';
import { evolve, type Order, type OrderDecision } from '#app/domain/order/order.js';
import { ORDER_STATUSES } from '#app/domain/order/status.js';
import { cleanUp, createRecord, updateRecord, upsertBatch, withoutNulls } from '#app/domain/referenceTable/decide.js';
import { type BatchUpserted, type ReferenceTableEvent, unpackIds } from '#app/domain/referenceTable/events.js';
import { undoBatch } from '#app/domain/referenceTable/undo.js';
import { TenantRows } from '../support/tenantRows.js';
import { random, SEED } from './runs.js';

const typeOf = (name: string) => {
  const found = stockModel.find((type) => type.name === name);
  if (found === undefined) throw new Error(`There is no ${name}.`);
  return found;
};
const [orders, lines, items] = [typeOf('dyn_stock_order'), typeOf('dyn_order_line'), typeOf('dyn_item')];
const uuid = (n: number): string => `0198c1f2-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;

type Shown = { readonly id: string; readonly created: string; readonly updated: string; readonly fields: Fields };
/** By space, what it shows. */
type Model = ReadonlyMap<string, readonly Shown[]>;

const byId = (rows: readonly Shown[]): readonly Shown[] =>
  rows
    .map(({ id, created, updated, fields }) => ({ id, created, updated, fields: withoutNulls(fields) }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));

/** Applies the events now and then, and compares each position with what the model was then. */
async function compare(acme: TenantRows, models: ReadonlyMap<number, Model>): Promise<void> {
  await acme.apply();
  for (const [position, model] of models)
    for (const [space, rows] of model) {
      expect([position, space, byId(await acme.shown(space, position))]).toEqual([position, space, byId(rows)]);
      if (position === acme.position) expect(byId(await acme.shown(space))).toEqual(byId(rows));
    }
}

describe('orders', () => {
  const text = fc.constantFrom('a', 'b', null);
  const command = fc.record({
    kind: fc.constantFrom(
      'create',
      'update',
      'update',
      'add',
      'add',
      'change',
      'remove',
      'approve',
      'reject',
      'fail',
      'deliver',
    ),
    pick: fc.nat(),
    part: fc.nat(),
    notes: text,
    status: fc.option(fc.constantFrom(...ORDER_STATUSES), { nil: undefined }),
    isApplied: fc.boolean(),
  });
  type Command = typeof command extends fc.Arbitrary<infer Each> ? Each : never;

  const approver = { id: 7, first_name: 'Ann', last_name: 'Lee', locale: 'en', email: 'ann@example.com' };
  let ids = 0;

  /** @param id of the order, which may be new */
  function decide({ kind, part, notes, status }: Command, id: string, order: Order | undefined): OrderDecision {
    const ended = { webhookId: uuid(1), deliveryId: uuid(2), approvalEventId: order?.lastApproval?.id ?? '' };
    const line = { fields: { order_id: id, line_number: notes } };
    ids += 1;
    if (order === undefined) {
      const parts = kind === 'create' ? [{ table: lines.name, id: uuid(ids), fields: withoutNulls(line.fields) }] : [];
      return createOrder(orders, { fields: { notes, processing_status: status ?? null } }, parts);
    }
    const known = [...order.parts.keys()];
    const picked = known[part % Math.max(1, known.length)];
    if (kind === 'add') return addPart(order, lines, line, uuid(ids));
    if (kind === 'change' && picked !== undefined)
      return updatePart(order, lines, picked, { fields: { line_number: notes } });
    if (kind === 'remove' && picked !== undefined) return removePart(order, picked, new Map());
    const snapshot = { table: orders.name, order: { id, created_at: '', updated_at: '' }, parts: [], related: {} };
    if (kind === 'approve') return approveOrder(order, approver, '2026-11-21', snapshot, { problems: [] });
    if (kind === 'reject') return rejectOrder(order, ['no']);
    if (kind === 'fail') return failExport(order, { ...ended, reasons: ['HTTP 500'] });
    if (kind === 'deliver') return deliverExport(order, ended);
    const sent = status === undefined ? {} : { processing_status: status };
    const added = part % 2 === 0 ? [{ table: lines.name, id: uuid(ids), fields: withoutNulls(line.fields) }] : [];
    return updateOrder(order, id, { fields: { notes, ...sent } }, { added, changed: [], removed: [] });
  }

  const shownOf = (state: ReadonlyMap<string, Order>): Model => {
    const all = [...state].map(([id, { status, fields, createdAt: created, updatedAt: updated }]) => {
      return { id, created, updated, fields: { ...fields, processing_status: status } };
    });
    const parts = [...state.values()].flatMap((order) => [...order.parts.values()]);
    const ofParts = parts.map(({ id, createdAt: created, updatedAt: updated, fields }) => ({
      id,
      created,
      updated,
      fields,
    }));
    return new Map([
      [orders.name, all],
      [lines.name, ofParts],
    ]);
  };

  it(`are what their events make of them (seed ${SEED})`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 40 }), async (commands) => {
        const acme = new TenantRows();
        const state = new Map<string, Order>();
        const models = new Map<number, Model>();
        for (const each of commands) {
          const id = uuid(0xa0000 + (each.pick % 3));
          const decision = decide(each, id, state.get(id));
          if (decision.kind !== 'accepted' || decision.events.length === 0) continue;
          const position = acme.append(`order-acme.${id}`, ...decision.events);
          for (const event of acme.events.filter((one) => one.position === position)) {
            const { metadata, id: eventId } = event;
            const typed = { type: event.type, data: event.data } as OrderEvent;
            state.set(id, evolve(state.get(id), typed, { id: eventId, at: metadata.occurredAt, position }));
          }
          models.set(position, shownOf(state));
          if (each.isApplied) await acme.apply();
        }
        await compare(acme, models);
      }),
      random(100),
    );
  });
});

describe('a table', () => {
  const key = fc.constantFrom('a', 'b', 'c', 'd', 'e');
  const value = fc.constantFrom('x', 'y', null);
  const batchId = fc.constantFrom(undefined, null, 'one', 'two');
  const command = fc.record({
    kind: fc.constantFrom('create', 'update', 'batch', 'batch', 'batch', 'cleanUp', 'undo'),
    items: fc.uniqueArray(fc.record({ external_id: key, name: value, _batch_id: batchId }), {
      minLength: 1,
      selector: (each) => each.external_id,
    }),
    pick: fc.nat(),
    isApplied: fc.boolean(),
  });
  type Command = typeof command extends fc.Arbitrary<infer Each> ? Each : never;
  type Stored = Shown & { readonly batchId: string | null };

  let ids = 0;
  const newId = (): string => {
    ids += 1;
    return uuid(ids);
  };

  function decide(
    { kind, items: given, pick }: Command,
    state: ReadonlyMap<string, Stored>,
    batches: readonly (readonly BatchUpserted['data'][])[],
  ): readonly ReferenceTableEvent[] {
    const known = {
      byKey: (wanted: string) => [...state.values()].find(({ fields }) => fields.external_id === wanted),
      byId: (id: string) => state.get(id),
      formerId: () => undefined,
    };
    const inputs = given.map(({ _batch_id, ...fields }) => ({
      fields,
      ...(_batch_id !== undefined && { batchId: _batch_id }),
    }));
    const [first = { fields: {} }] = inputs;
    const picked = [...state.values()][pick % Math.max(1, state.size)];
    const batch = batches[pick % Math.max(1, batches.length)];
    if (kind === 'cleanUp')
      return [cleanUp('one', [...state.values()].filter((each) => each.batchId !== 'one').length)];
    if (kind === 'undo') return batch === undefined ? [] : undoBatch(items, 0, batch, known).events;
    if (kind === 'update' && picked === undefined) return [];
    const decision =
      kind === 'create'
        ? createRecord(items, first, newId(), known)
        : kind === 'update' && picked !== undefined
          ? updateRecord(items, picked, first, known)
          : upsertBatch(items, inputs, inputs.map(newId), known);
    return decision.ok ? decision.events : [];
  }

  function change(state: Map<string, Stored>, { type, data }: ReferenceTableEvent, at: string): void {
    const create = (batch: string | null, { id, fields }: { readonly id: string; readonly fields: Fields }) =>
      state.set(id, { id, created: at, updated: at, batchId: batch, fields });
    const move = (id: string, batch: string | null | undefined, more: Partial<Stored> = {}) => {
      const before = state.get(id) as Stored;
      state.set(id, { ...before, batchId: batch === undefined ? before.batchId : batch, ...more });
    };
    const replace = (batch: string | null | undefined, { id, set }: { readonly id: string; readonly set: Fields }) =>
      move(id, batch, { updated: at, fields: { ...state.get(id)?.fields, ...set } });
    switch (type) {
      case 'RecordCreated':
        create(null, data);
        return;
      case 'RecordChanged':
        replace(undefined, data);
        return;
      case 'TableCleanedUp':
        for (const [id, { batchId: batch }] of state) if (batch !== data.batchId) state.delete(id);
        return;
      case 'BatchUndone':
        for (const id of unpackIds(data.deleted)) state.delete(id);
        break;
      case 'BatchUpserted':
        for (const record of data.created) create(data.batchId ?? null, record);
    }
    for (const record of data.changed) replace(data.batchId, record);
    for (const id of unpackIds(data.seen)) move(id, data.batchId);
  }

  it(`is what its events make of it (seed ${SEED})`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 40 }), async (commands) => {
        const acme = new TenantRows();
        const state = new Map<string, Stored>();
        const batches: (readonly BatchUpserted['data'][])[] = [];
        const models = new Map<number, Model>();
        for (const each of commands) {
          const events = decide(each, state, batches);
          if (events.length === 0) continue;
          const position = acme.append(`table-acme.${items.name}`, ...events);
          const at = acme.events.at(-1)?.metadata.occurredAt ?? '';
          for (const event of events) change(state, event, at);
          const upserted = events.flatMap((event) => (event.type === 'BatchUpserted' ? [event.data] : []));
          if (upserted.length > 0) batches.push(upserted);
          models.set(position, new Map([[items.name, [...state.values()]]]));
          if (each.isApplied) await acme.apply();
        }
        await compare(acme, models);
        const batchOf = (rows: readonly { id: string; batch: string | null }[]) =>
          rows.map(({ id, batch }) => [id, batch]);
        const stored = await acme.shown(items.name);
        const expected = [...state.values()].map(({ id, batchId: batch }) => ({ id, batch }));
        expect(new Map(batchOf(stored) as [string, string][])).toEqual(
          new Map(batchOf(expected) as [string, string][]),
        );
      }),
      random(100),
    );
  });
});

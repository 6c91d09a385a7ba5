/** Rows of orders and their versions, made of random histories, are at each position what the domain says of the events so far. */
import fc from 'fast-check';
import type { Fields } from '#app/domain/assetTypes/fieldTypes.js';
import { stockModel } from '#app/domain/assetTypes/standardTables.js';
import {
  addPart,
  approveOrder,
  createOrder,
  endExport,
  type OrderDecision,
  rejectOrder,
  removePart,
  updateOrder,
  updatePart,
} from '#app/domain/order/decide.js';
import { ORDER_STATUSES, type OrderEvent } from '#app/domain/order/events.js';
import { evolve, type Order } from '#app/domain/order/order.js';
import { withoutNulls } from '#app/domain/referenceTable/decide.js';
import { changedBetween } from '#app/queries/past.js';
import { TenantRows } from '../support/tenantRows.js';
import { random, SEED } from './runs.js';

const typeOf = (name: string) => {
  const found = stockModel.find((type) => type.name === name);
  if (found === undefined) throw new Error(`There is no ${name}.`);
  return found;
};
const [orders, lines] = [typeOf('dyn_stock_order'), typeOf('dyn_order_line')];
const uuid = (n: number): string => `0198c1f2-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;

type Shown = { readonly id: string; readonly created: string; readonly updated: string; readonly fields: Fields };
/** By space, what it shows. */
type Model = ReadonlyMap<string, readonly Shown[]>;

const byId = (rows: readonly Shown[]): readonly Shown[] =>
  rows
    .map(({ id, created, updated, fields }) => ({ id, created, updated, fields: withoutNulls(fields) }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));

const textsOf = (model: Model | undefined, space: string): ReadonlyMap<string, string> =>
  new Map(byId(model?.get(space) ?? []).map((row) => [row.id, JSON.stringify(row)]));

/** Moments that were compared with the model. */
let moments = 0;

/** Compares each position with what the model was then, and with what has changed since an earlier one. */
async function compare(acme: TenantRows, models: ReadonlyMap<number, Model>): Promise<void> {
  await acme.apply();
  const all = [...models];
  for (const [index, [position, model]] of all.entries()) {
    moments += 1;
    const [from, before] = all[index >> 1] ?? [position, model];
    for (const [space, rows] of model) {
      const [was, is] = [textsOf(before, space), textsOf(model, space)];
      const differs = (id: string): boolean => was.get(id) !== is.get(id);
      const found = new Set<string>();
      for await (const { id } of changedBetween(acme.rows.reads, { tenant: 'acme', space }, [from, position]))
        found.add(id);
      const differing = new Set([...was.keys(), ...is.keys()].filter(differs));
      expect([from, position, [...found].filter(differs).sort()]).toEqual([from, position, [...differing].sort()]);
      expect([position, space, byId(await acme.shown(space, position))]).toEqual([position, space, byId(rows)]);
      if (position === acme.position) expect(byId(await acme.shown(space))).toEqual(byId(rows));
    }
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
    const ended = { webhookId: uuid(1), deliveryId: uuid(2) };
    const approval = order?.approval ?? '';
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
    if (kind === 'approve')
      return approveOrder(order, { approvedAt: '2026-11-21', approver }, snapshot, new Map(), 'why');
    if (kind === 'reject') return rejectOrder(order, ['no']);
    if (kind === 'fail') return endExport(order, approval, ended, ['HTTP 500']);
    if (kind === 'deliver') return endExport(order, approval, ended);
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

  it(`are what their events make of them, at 200 moments and more, and from an earlier one to each (seed ${SEED})`, async () => {
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
            state.set(id, evolve(state.get(id), typed, { id: eventId, at: metadata.occurredAt }));
          }
          models.set(position, shownOf(state));
          if (each.isApplied) await acme.apply();
        }
        await compare(acme, models);
      }),
      random(100),
    );
    expect(moments).toBeGreaterThanOrEqual(200);
  });
});

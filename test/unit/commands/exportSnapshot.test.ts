/** What an approval holds of the records that an order names: what they are then, and nothing else (decision 0007). */
import type { Application } from '#app/commands/application.js';
import { exportSnapshot } from '#app/commands/orders/orderWriter.js';
import { standardTables } from '#app/domain/identity/tenantTables.js';
import type { Order, OrderPart } from '#app/domain/order/order.js';
import type { StoredRecord, TableRef } from '#app/ports/readModels.js';

const assetTypes = standardTables('dyn_stock_order');
const AT = '2026-11-21T12:00:00.000000Z';
const stored = (id: string, fields: StoredRecord['fields']): StoredRecord =>
  ({ id, createdAt: AT, updatedAt: AT, batchId: null, fields }) as StoredRecord;

const TABLES: { readonly [table: string]: readonly StoredRecord[] } = {
  dyn_party: [stored('p', { external_id: 'BUYER', name: 'Ada' }), stored('q', { external_id: 'OTHER', name: 'Bo' })],
  dyn_item: [stored('tea', { external_id: 'T', name: 'Tea', base_unit_code_id: 'box' })],
  dyn_unit_code: [stored('box', { code: 'BX', value: 'Box' }), stored('bag', { code: 'BG', value: 'Bag' })],
};

async function snapshotOf(fields: Order['fields'], lines: readonly OrderPart['fields'][]) {
  const asked: [table: string, key: string, values: readonly string[]][] = [];
  const commands = {
    directory: { tenant: () => ({ assetTypes }) },
    readModels: {
      find: async ({ table }: TableRef, key: string, values: readonly string[]) => {
        asked.push([table, key, values]);
        return (TABLES[table] ?? []).filter((record) =>
          values.includes(key === 'id' ? record.id : String(record.fields[key])),
        );
      },
    },
  } as unknown as Application;
  const parts = lines.map((line, index) => ({
    table: 'dyn_order_line',
    id: `line ${index}`,
    fields: { order_id: 'o', ...line },
    createdAt: AT,
    updatedAt: AT,
  }));
  const order = {
    table: 'dyn_stock_order',
    status: 'validated',
    fields,
    parts: new Map(parts.map((part) => [part.id, part])),
    createdAt: AT,
    updatedAt: AT,
  } as unknown as Order;
  const { related, ...own } = await exportSnapshot(commands, 'acme', 'o', order);
  const names = Object.entries(related).map(([table, records]) => [table, Object.keys(records)]);
  return { asked, related, names: Object.fromEntries(names), own };
}

test('each record that the order, its lines, or an item of them names is read once, and no other', async () => {
  const both = { buyer_customer_party_id: 'BUYER', accounting_customer_party_id: 'BUYER' };
  const lines = [{ item_id: 'tea', unit_code_id: 'bag' }, { item_id: 'tea' }, { unit_code_id: 'bag' }];
  const { asked, names, related, own } = await snapshotOf(both, lines);
  expect(asked).toEqual([
    ['dyn_party', 'external_id', ['BUYER']],
    ['dyn_item', 'id', ['tea']],
    ['dyn_unit_code', 'id', ['bag']],
    ['dyn_unit_code', 'id', ['box']],
  ]);
  expect(names).toEqual({ dyn_party: ['BUYER'], dyn_item: ['tea'], dyn_unit_code: ['bag', 'box'] });
  expect(related.dyn_party?.BUYER).toMatchObject({ id: 'p', name: 'Ada' });
  expect(own).toMatchObject({
    table: 'dyn_stock_order',
    order: { id: 'o', processing_status: 'validated', ...both },
    parts: lines.map((line, index) => ({ table: 'dyn_order_line', record: { id: `line ${index}`, ...line } })),
  });
});

test('what is named and not there is left out, and an order that names nothing asks for nothing', async () => {
  const { names } = await snapshotOf({ buyer_customer_party_id: 'NOBODY' }, [{ item_id: 'coffee' }]);
  expect(names).toEqual({ dyn_party: [], dyn_item: [] });
  expect(await snapshotOf({}, [{}])).toMatchObject({ asked: [], related: {} });
});

import { withSummaries } from '#app/api/orderSummaries.js';
import { stockModel } from '#app/domain/assetTypes/stockModel.js';
import type { Tenant } from '#app/domain/identity/directory.js';
import { MAX_SUMMARY_PARTS } from '#app/domain/limits.js';
import type { ListBehind, TableRef } from '#app/ports/readModels.js';
import { Cancellation } from '#app/supervision/cancellation.js';

const tenant = {
  name: 'acme',
  orderModel: 'dyn_stock_order',
  assetTypes: new Map(stockModel.map((assetType) => [assetType.name, assetType])),
} as Pick<Tenant, 'name' | 'orderModel' | 'assetTypes'> as Tenant;

const id = (n: number): string => `0198c1f2-0000-7000-8000-${String(n).padStart(12, '0')}`;
const ITEM = id(999_999);
const order = (n: number) =>
  JSON.stringify({ id: id(n), buyer_customer_party_id: `C-${n % 3}`, customer_reference: 'PO' });

/** Read models in which each order has so many lines. */
function openSource(linesOf: (orderId: string) => number) {
  const asked: string[] = [];
  const readModels = {
    listBehind: async ({ table }: TableRef, { filters: [filter], limit }: ListBehind) => {
      const orderIds = filter?.kind === 'equals' ? filter.anyOf.map(String) : [];
      asked.push(`${table} of ${orderIds.length}`);
      const lines = orderIds.flatMap((order_id) =>
        Array.from({ length: linesOf(order_id) }, (_, n) => ({
          id: id(1_000 + n),
          order_id,
          item_id: ITEM,
          quantity: n,
        })),
      );
      const records = lines.slice(0, limit).map((line) => JSON.stringify(line));
      const isWhole = lines.length <= limit;
      return { records: records.join(), ...(isWhole ? {} : { next: { createdAt: '', id: ITEM } }) };
    },
  };
  const find = async ({ table }: TableRef, key: string, values: readonly string[]) => {
    asked.push(`${table} by ${values.length} ${key}`);
    const times = { createdAt: '', updatedAt: '', batchId: null };
    return table === 'dyn_party'
      ? values.map((value, n) => ({ id: id(n), ...times, fields: { external_id: value, name: `Name of ${value}` } }))
      : [];
  };
  return { source: { readModels, commands: { readModels: { find } } }, asked };
}

const summaries = async (
  source: ReturnType<typeof openSource>['source'],
  orders: number,
  wanted = new Cancellation(),
) => {
  const page = Array.from({ length: orders }, (_, n) => order(n)).join();
  const shown: { id: string; summary: unknown }[] = JSON.parse(
    `[${await withSummaries(source, tenant, page, wanted)}]`,
  );
  return shown;
};

test('a page of 100 orders with lines takes one query of their lines and one of each table that they name', async () => {
  const { source, asked } = openSource(() => 2);
  const shown = await summaries(source, 100);
  expect(asked).toEqual(['dyn_order_line of 100', 'dyn_party by 3 external_id', 'dyn_item by 1 id']);
  // A line of quantity 0, two lines with an item that there is not and without unit, no delivery date.
  expect(shown[4]).toMatchObject({
    id: id(4),
    customer_reference: 'PO',
    summary: {
      customer: 'Name of C-1',
      lines: 2,
      problems: 6,
      first_problem: expect.stringContaining('delivery_date'),
    },
  });
});

test('beyond so many lines, the first orders have summaries and the others null', async () => {
  const { source, asked } = openSource((orderId) => (orderId === id(3) ? MAX_SUMMARY_PARTS : 2));
  const shown = await summaries(source, 25);
  expect(shown.map(({ summary }) => summary !== null)).toEqual(Array.from({ length: 25 }, (_, n) => n < 3));
  expect(asked.filter((each) => each.startsWith('dyn_order_line'))).toHaveLength(5);
});

test('reads no further for a client that has left', async () => {
  const { source, asked } = openSource(() => 1);
  const wanted = new Cancellation();
  const reason = new Error('left');
  wanted.cancel(reason);
  await expect(summaries(source, 2, wanted)).rejects.toBe(reason);
  expect(asked).toEqual(['dyn_order_line of 2']);
});

import { MAX_HISTORY_PAGE_BYTES } from '#app/domain/limits.js';
import { orderStream } from '#app/domain/streams.js';
import { orderHistoryPage } from '#app/queries/orderHistory.js';
import { LoggedTenant, minute } from '../../support/tenantRows.js';

const id = (n: number): string => `0198c1f2-0000-7000-8000-${String(n).padStart(12, '0')}`;
const ORDERS = 'dyn_stock_order';
const acmeTenant = { name: 'acme', orderModel: ORDERS } as const;

describe('the history of an order', () => {
  let acme: LoggedTenant;
  beforeEach(async () => {
    acme = new LoggedTenant();
    await acme.create();
  });

  const happen = (n: number, type: string, data: object) =>
    acme.append(orderStream('acme', id(n)), { events: [{ type, data }] });
  const create = (n: number) => happen(n, 'OrderCreated', { table: ORDERS, fields: { note: 'a' }, status: 'draft' });
  const change = (n: number, to: string) =>
    happen(n, 'OrderChanged', { status: { from: 'draft', to: 'draft' }, changes: { note: { from: 'a', to } } });
  const history = (n: number, page = 1, perPage = 10) =>
    orderHistoryPage(acme.log, acmeTenant, id(n), { page, perPage });

  test('tells each of its events, oldest first', async () => {
    await create(1);
    await change(1, 'b');
    expect(await history(1)).toEqual({
      before: 0,
      pages: 1,
      total: 2,
      entries: [
        expect.objectContaining({ revision: 0, eventType: 'OrderCreated', statusFrom: null, statusTo: 'draft' }),
        {
          position: 3,
          revision: 1,
          eventId: expect.any(String),
          eventType: 'OrderChanged',
          at: minute(3),
          actor: { kind: 'client', id: 'erp', name: 'ERP' },
          correlationId: 'request-3',
          causationId: 'request-3',
          statusFrom: 'draft',
          statusTo: 'draft',
          reasons: [],
          changes: [{ table: ORDERS, id: id(1), field: 'note', from: 'a', to: 'b' }],
        },
      ],
    });
    const none = { entries: [], before: 0, pages: 0, total: 0 };
    expect(await history(2)).toEqual(none);
    expect(await orderHistoryPage(acme.log, { ...acmeTenant, name: 'other' }, id(1), { page: 1, perPage: 10 })).toEqual(
      none,
    );
  });

  test('a page ends at its number of entries, or before it is too large, and has one at least; it grows at the end', async () => {
    const half = 'ß'.repeat(MAX_HISTORY_PAGE_BYTES / 4);
    await create(1);
    for (const to of [half, half, half.repeat(3), 'b']) await change(1, to);
    const revisionsOn = async (page: number, perPage: number) => {
      const { entries, ...place } = await history(1, page, perPage);
      return [entries.map(({ revision }) => revision), place];
    };
    const place = { pages: 4, total: 5 };
    expect(await revisionsOn(1, 10)).toEqual([[0, 1], { ...place, before: 0 }]);
    expect(await revisionsOn(2, 10)).toEqual([[2], { ...place, before: 2 }]);
    expect(await revisionsOn(3, 10)).toEqual([[3], { ...place, before: 3 }]);
    expect(await revisionsOn(4, 10)).toEqual([[4], { ...place, before: 4 }]);
    expect(await revisionsOn(5, 10)).toEqual([[], { ...place, before: 0 }]);
    expect(await revisionsOn(2, 1)).toEqual([[1], { pages: 5, total: 5, before: 1 }]);
    await change(1, 'c');
    expect(await revisionsOn(4, 10)).toEqual([[4, 5], { pages: 4, total: 6, before: 4 }]);
  });
});

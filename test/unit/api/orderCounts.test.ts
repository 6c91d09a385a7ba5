import { OrderCounts } from '#app/api/orderCounts.js';
import { ARCHIVED, TO_VALIDATE } from '#app/domain/order/status.js';
import { Cancellation } from '#app/supervision/cancellation.js';

const STATUSES = [...TO_VALIDATE, ...ARCHIVED];
const orders = { tenant: 'acme', table: 'dyn_stock_order' };

/** Read models that note what they are asked. @param stateOf the table's own state; undefined as on MongoDB */
function openReadModels(stateOf: () => string | undefined, lastEventAt: () => string) {
  const asked: string[] = [];
  const readModels = {
    tableState: async () => {
      asked.push('state');
      return stateOf();
    },
    tableFigures: async () => {
      asked.push('figures');
      return [{ ...orders, records: 3, lastEventAt: lastEventAt() }];
    },
    counts: async () => {
      asked.push('counts');
      return STATUSES.map((_, n) => n);
    },
  };
  return { readModels, asked };
}

test.each([
  ['a state of its own', true],
  ['figures', false],
])('of a table with %s: fifty clerks who ask cost one count, until an order changes', async (_, hasState) => {
  let changes = 1;
  const now = () => `2026-11-26T02:00:0${changes}Z`;
  const { readModels, asked } = openReadModels(() => (hasState ? now() : undefined), now);
  const counts = new OrderCounts();
  const ask = () => counts.of(readModels, orders, STATUSES, new Cancellation());
  for (let n = 0; n < 50; n++) expect((await ask()).get('saved')).toBe(1);
  const times = (what: string) => asked.filter((each) => each === what).length;
  expect([times('counts'), times('state'), times('figures')]).toEqual([1, 50, hasState ? 0 : 50]);
  changes = 2;
  await ask();
  await ask();
  expect(times('counts')).toBe(2);
});

/** Users with which the tests sign in, and what they find. */
import { party } from '../acceptance/samples.js';
import type { AssetRecord, TenantClient } from '../acceptance/tenant.js';
import type { Person } from './browser.js';

const PASSWORD = 'a long enough password';
type Role = 'admin' | 'validator' | 'auditor';

export async function addUser(tenant: TenantClient, role: Role, name: string = role): Promise<Person> {
  const email = `${name}@example.com`;
  const user = { email, password: PASSWORD, first_name: name, last_name: 'Smit', roles: [role] };
  await tenant.platformData('POST', '/users', user);
  return { email, password: PASSWORD };
}

/** Orders that wait for a clerk: two lines each, all they name is there. */
export async function addOrders(tenant: TenantClient, count: number): Promise<readonly AssetRecord[]> {
  await tenant.batch('dyn_party', [{ ...party('C1'), name: 'Grand Café De Brug' }]);
  await tenant.batch('dyn_unit_code', [{ code: 'PCE', value: 'Piece' }]);
  await tenant.batch('dyn_item', [
    { external_id: 'I1', name: 'Coffee beans 1 kg' },
    { external_id: 'I2', name: 'Black tea, 100 bags' },
  ]);
  const [items, units] = [await tenant.list('dyn_item', { sort: 'external_id' }), await tenant.list('dyn_unit_code')];
  const orders: AssetRecord[] = [];
  for (let n = 1; n <= count; n += 1) {
    const fields = {
      issue_date: '2026-11-21',
      delivery_date: '2026-12-01',
      customer_reference: `PO-${String(n).padStart(3, '0')}`,
      accuracy: 0.93,
      order_inquiry_id: '01a1feb1-0000-7000-8000-0000000000aa',
      buyer_customer_party_id: 'C1',
      accounting_customer_party_id: 'C1',
      lines: items.data.map(({ id }, at) => ({
        line_number: at + 1,
        item_id: id,
        unit_code_id: units.data[0]?.id,
        quantity: 6,
      })),
    };
    orders.push(await tenant.create('dyn_stock_order', fields));
  }
  return orders;
}

/** A clerk's lists: the way from one order to the next, when an approval is sent, many orders at once, what colleagues have open. */
import type { AssetRecord } from '../acceptance/tenant.js';
import { useConsole, type Window } from './browser.js';
import { addOrders, addUser } from './people.js';

let window: Window;
let orders: readonly AssetRecord[];
const { acme, enter } = useConsole();
const statusOf = async (id = '') => (await acme().get('dyn_stock_order', id)).processing_status;
const heading = (name: string) => window.page.getByRole('heading', { level: 1, name }).waitFor();
const place = (text: string) => window.page.getByText(text, { exact: true }).waitFor();
const open = (name: string) => window.page.getByRole('cell', { name, exact: true }).click();
const confirm = (name: string) => window.page.getByRole('dialog').getByRole('button', { name }).click();

beforeAll(async () => {
  orders = await addOrders(acme(), 27);
  window = await enter(await addUser(acme(), 'validator'));
});
afterEach(() => {
  // A browser shows by itself what was refused.
  expect(window.complaints.splice(0).filter((each) => !/status of 4(?:00|09|22)/.test(each))).toEqual([]);
});

test('goes on over the end of a page and after a rejection; what is approved with a reason is sent after 8 seconds, if at all', async () => {
  const { page } = window;
  const { id } = await acme().create('dyn_stock_order', { customer_reference: 'FLAWED', delivery_date: '2020-01-06' });
  await acme().update('dyn_stock_order', id, { processing_status: 'validated' });
  const sent: { readonly at: number; readonly body: unknown }[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/approve')) sent.push({ at: Date.now(), body: request.postDataJSON() });
  });
  await window.goto('/orders', 'To Validate');
  await open('PO-025');
  await place('25 of 28');
  await window.press('n');
  await place('26 of 28');
  await window.press('r');
  await page.getByLabel(/Why is it rejected/).fill('Ordered twice');
  await window.screenshot('clerk-reject');
  await confirm('Reject');
  await heading('PO-027');
  await place('26 of 27');
  await window.press('n');
  const approve = async () => {
    await heading('FLAWED');
    await window.press('a');
    await page.getByLabel(/The reason/).fill('Agreed by telephone');
    const at = Date.now();
    await confirm('Approve');
    await heading('PO-001');
    return at;
  };
  await approve();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Not approved: FLAWED').waitFor();
  await page.goBack();
  const approvedAt = await approve();
  await page.getByText(/^Approved: FLAWED/).waitFor();
  expect(sent.map(({ body }) => body)).toEqual([{ override: true, reason: 'Agreed by telephone' }]);
  expect((sent[0]?.at ?? 0) - approvedAt).toBeGreaterThanOrEqual(8_000);
  expect(await statusOf(id)).toBe('submitted');
  expect(await statusOf(orders[25]?.id)).toBe('rejected');
});

test('goes on among the refused; shows what a colleague has open, and what is late in red', async () => {
  for (const { id } of orders.slice(0, 2))
    await acme().update('dyn_stock_order', id, { processing_status: 'submit_failed', delivery_date: '2020-01-06' });
  const colleague = await enter(await addUser(acme(), 'validator', 'anna'));
  await colleague.goto(`/orders/${orders[1]?.id}`, /PO-002/);
  // This one has another date.
  await acme().update('dyn_stock_order', String(orders[4]?.id), { processing_status: 'submit_failed' });
  await window.goto('/refused?to=2020-01-06&sort=-customer_reference', 'Refused by the ERP');
  const row = window.page.getByRole('row', { name: 'PO-002' });
  await row.getByText('Opened by anna Smit').waitFor();
  await row.getByText(/days\sago/).waitFor();
  expect(await window.page.evaluate("getComputedStyle(document.querySelector('tr .late')).color")).toMatch(
    /^rgb\(2\d\d, \d\d, \d\d\)$/,
  );
  await open('PO-002');
  await place('1 of 2');
  for (const name of ['PO-001', 'PO-002']) {
    await window.press('n');
    await heading(name);
  }
  await colleague.close();
});

test('many orders are approved, validated or rejected; each that is not says why, and stays selected', async () => {
  const { page } = window;
  const { id } = await acme().create('dyn_stock_order', { customer_reference: 'PO-01X' });
  for (const n of ['A', 'B', 'C']) await acme().create('dyn_stock_order', { customer_reference: n });
  await window.goto('/orders', 'To Validate');
  await page.getByLabel('Select all orders of this page').check();
  await page.getByRole('button', { name: 'Select all 27 of this list' }).click();
  await page.getByRole('button', { name: 'Approve 27 selected' }).waitFor();
  await window.goto('/orders?text=PO-01', 'To Validate');
  await page.getByLabel('Select all orders of this page').check();
  await acme().update('dyn_stock_order', String(orders[9]?.id), { processing_status: 'completed' });
  const act = async (button: string | RegExp, name: string, counts: string) => {
    await page.getByRole('button', { name: button }).click();
    if (name === 'Reject') await page.getByLabel(/Why is it rejected/).fill('Ordered twice');
    await confirm(name);
    await page.getByText(counts).waitFor();
    await page.getByRole('row', { name: 'PO-010 Grand Café De Brug Completed' }).waitFor();
    await window.screenshot(`clerk-many-${name}`);
  };
  // Those that have all they need are validated on the way.
  await act(/^Approve 11 selected/, 'Approve', '9 done · 2 refused');
  await page.getByRole('row', { name: /PO-01X.*: nothing is filled in/ }).waitFor();
  await window.press('Escape');
  await act('Save as validated', 'Save as validated', '0 done · 2 refused');
  await window.press('Escape');
  await act('Reject', 'Reject', '1 done · 1 refused');
  await window.press('Escape');
  expect(await Promise.all([orders[10]?.id, id].map(statusOf))).toEqual(['submitted', 'rejected']);
  // What was sent reads as text.
  await window.goto(`/orders/${orders[10]?.id}`, /PO-011/);
  await page.locator('[data-field="delivery_date"]').getByText('1 Dec 2026').waitFor();
  expect(await page.getByRole('main').locator('input, textarea').count()).toBe(0);
});

test('a list that is too long for a sort says so once, and comes back', async () => {
  const { page } = window;
  let asked = 0;
  await page.route(/sort=problems/, (route) => {
    asked += 1;
    return route.fulfill({ status: 400, json: { message: 'Bad request.', error: 'Only 500 orders or fewer.' } });
  });
  await window.goto('/orders', 'To Validate');
  await page.getByRole('button', { name: 'Problems', exact: true }).click();
  await page.getByText('Only 500 orders or fewer.').waitFor();
  await page.getByText('All', { exact: true }).click();
  await page.getByRole('row', { name: 'PO-003' }).waitFor();
  expect(asked).toBe(1);
});

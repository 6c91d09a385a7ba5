/** The clerk's day: orders come, are corrected, approved, rejected; two clerks meet at one order. */
import type { AssetRecord } from '../acceptance/tenant.js';
import { scaled } from '../engines/timeScale.js';
import { type Person, until, useConsole } from './browser.js';
import { addOrders, addUser } from './people.js';

let clerk: Person;
let orders: readonly AssetRecord[];
const { acme, open, enter: enterAs, service } = useConsole();
const statusOf = async (id = '') => (await acme().get('dyn_stock_order', id)).processing_status;
const linesOf = async (id: unknown) =>
  (await acme().list('dyn_order_line', { 'filter[order_id]': String(id), sort: 'line_number' })).data;
const enter = async (options = {}) => {
  const window = await enterAs(clerk, options);
  return { window, page: window.page };
};

beforeAll(async () => {
  clerk = await addUser(acme(), 'validator');
  orders = await addOrders(acme(), 14);
});

test('clears ten orders with the keyboard alone, in less than three minutes', async () => {
  const start = performance.now();
  const window = await open();
  const { page } = window;
  await page.goto(`http://${acme().host}/console`);
  // The first field has the focus.
  await page.getByLabel('E-mail address').waitFor();
  await page.keyboard.type(clerk.email);
  await window.press('Tab');
  await page.keyboard.type(clerk.password);
  await window.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
  await window.press('g', 'o');
  await page.getByRole('table', { name: 'Order', exact: true }).waitFor();
  await window.screenshot('clerk-to-validate');
  await window.press('j', 'Enter');
  for (let n = 1; n <= 10; n += 1) {
    await page.getByRole('heading', { level: 1, name: `PO-${String(n).padStart(3, '0')}` }).waitFor();
    await page.getByText('Pending validation', { exact: true }).first().waitFor();
    await window.press('a');
  }
  await page.getByRole('heading', { level: 1, name: 'PO-011' }).waitFor();
  expect(performance.now() - start).toBeLessThan(180_000);
  const statuses = () => Promise.all(orders.slice(0, 10).map(({ id }) => statusOf(id)));
  const areSent = (all: readonly unknown[]) => all.every((status) => status === 'submitted');
  expect(await until(statuses, areSent)).toEqual(Array(10).fill('submitted'));
  await window.closeWithoutComplaint();
});

test('an approval is sent after some seconds, and can be taken back before', async () => {
  const { window, page } = await enter();
  await window.goto('/orders', 'To Validate');
  await page.getByRole('link', { name: 'Grand Café De Brug' }).first().click();
  await page.getByRole('heading', { level: 1, name: 'PO-011' }).waitFor();
  await page.getByText('1 of 4', { exact: true }).waitFor();
  await window.press('Control+k');
  await page.getByPlaceholder('Find orders, records, pages and actions').fill('po-013');
  await page.getByRole('button', { name: /PO-013.*Grand Café De Brug/ }).click();
  await page.getByRole('heading', { level: 1, name: 'PO-013' }).waitFor();
  await page.goBack();
  await page.getByRole('heading', { level: 1, name: 'PO-011' }).waitFor();
  await page.getByText('1 of 4', { exact: true }).waitFor();
  // Keys are not for the page while it is open.
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await window.press('a');
  await page.getByRole('heading', { level: 1, name: 'PO-012' }).waitFor();
  await page.getByText('2 of 4', { exact: true }).waitFor();
  await window.screenshot('clerk-approved-later');
  await window.press('u');
  await page.getByText('Not approved: PO-011').waitFor();
  await window.closeWithoutComplaint();
});

test('corrects a line, looks up an item by typing, adds and removes lines, and leaves no change behind', async () => {
  await acme().platformData('POST', '/asset-types/dyn_item/fields', { name: 'price', type: 'Decimal' });
  const [tea] = (await acme().list('dyn_item', { 'filter[external_id]': 'I2' })).data;
  const base_unit_code_id = (await acme().list('dyn_unit_code')).data[0]?.id;
  await acme().update('dyn_item', String(tea?.id), { ean: '8712345678906', base_unit_code_id, price: '4.5' });
  const { window, page } = await enter();
  await window.goto(`/orders/${orders[10]?.id}`, /PO-011/);
  await page.getByText('Accuracy 93 %').waitFor();
  await page.getByText(/^\d+ empty fields$/).waitFor();
  await page.locator('th[colspan="2"]', { hasText: 'Quantity' }).waitFor();
  await page.getByLabel('Quantity, 1').fill('12');
  await window.choose('Item, 2', /Coffee beans/, 'coffee');
  await window.press('Escape');
  await page.getByRole('button', { name: 'Add a line' }).click();
  await window.choose('Item, 3', 'Black tea, 100 bags · I2 EAN 8712345678906 · Piece · 4.5', 'tea');
  await page.getByLabel('Quantity, 3').fill('3');
  await window.screenshot('clerk-order');
  await page.getByRole('button', { name: /^Show \d+ empty columns$/ }).click();
  expect((await page.getByRole('combobox', { name: 'Item, 1' }).boundingBox())?.width).toBeGreaterThanOrEqual(320);
  const asked = page.waitForEvent('dialog').then((dialog) => dialog.dismiss().then(() => dialog.message()));
  await page.getByRole('link', { name: 'Tables' }).click();
  expect(await asked).toBe('Leave without saving your changes?');
  await window.press('Control+s');
  await page.getByText('Saved.', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).and(page.locator(':disabled')).waitFor();
  const lines = await linesOf(orders[10]?.id);
  expect(lines.map(({ quantity }) => quantity)).toEqual([12, 6, 3]);
  expect(lines[0]?.item_id).toBe(lines[1]?.item_id);
  const received = page.locator('h2:text("As received") + details');
  await received.getByText('1 (Coffee beans 1 kg) · Quantity: 6 → 12', { exact: true }).waitFor();
  await received.getByText('Item: Black tea, 100 bags → Coffee beans 1 kg').waitFor();
  await page.getByRole('button', { name: 'Remove this line, 3' }).click();
  await window.press('Control+s');
  const left = () => linesOf(orders[10]?.id);
  expect(await until(left, ({ length }) => length === 2)).toHaveLength(2);
  for (let n = 0; n < 100; n++) await acme().update('dyn_stock_order', String(orders[10]?.id), { notes: `Door ${n}` });
  await page.reload();
  await received.getByText('Item: Black tea, 100 bags → Coffee beans 1 kg').waitFor();
  await page.getByRole('button', { name: 'Show more' }).click();
  await page.getByText(/^First API client .*created/i).waitFor();
  await window.closeWithoutComplaint();
});

test('the goods of a consignment are edited below it', async () => {
  const hauler = service().tenant('hauler');
  const person = await addUser(hauler, 'validator');
  const order = await hauler.create('dyn_transport_order', {
    customer_reference: 'T-1',
    consignments: [{ loading_date: '2026-12-01', goods: [{ product_name: 'Bricks', quantity: 2 }] }],
  });
  const window = await enterAs(person, {}, hauler);
  const { page } = window;
  await window.goto(`/orders/${order.id}`, /T-1/);
  const goods = page.getByRole('table', { name: 'Goods' });
  await goods.getByLabel('Quantity, 1').fill('5');
  await goods.getByLabel('Duplicate this line, 1').click();
  await goods.getByLabel('Product name, 2').fill('Tiles');
  await window.screenshot('clerk-transport');
  const sign = await page.getByRole('button', { name: 'Calendar: Loading date, 1' }).boundingBox();
  expect(sign?.x).toBeLessThan(500);
  await window.press('Control+s');
  await page.getByText('Saved.', { exact: true }).waitFor();
  const { data } = await hauler.list('dyn_goods', { sort: 'product_name' });
  expect(data.map(({ product_name, quantity }) => [product_name, quantity])).toEqual([
    ['Bricks', 5],
    ['Tiles', 5],
  ]);
  await window.closeWithoutComplaint();
});

test('numbers are sent as they were meant or not at all, also where the fields of the lines came late', async () => {
  const { window, page } = await enter();
  const info = '**/tables/dyn_order_line/info';
  await page.route(info, (route) => route.fulfill({ status: 500, json: { message: 'Broken.', error: 'Broken.' } }));
  await page.goto(`http://${acme().host}/console/orders/${orders[11]?.id}`);
  await page.getByText('Broken.').first().waitFor();
  await page.unroute(info);
  await page.getByRole('button', { name: 'Try again' }).first().click();
  const quantity = page.getByLabel('Quantity, 1');
  const before = await linesOf(orders[11]?.id);
  for (const typed of ['1,200', '1e3', 'twelve']) {
    await quantity.fill(typed);
    await page.getByText('Write a number such as 1250.75.').waitFor();
    await window.press('Control+s');
    await page.getByRole('alert').filter({ hasText: typed }).waitFor();
  }
  expect(await linesOf(orders[11]?.id)).toEqual(before);
  await quantity.fill('1.250,75');
  await window.press('Control+s');
  await page.getByText('Saved.', { exact: true }).waitFor();
  const after = await linesOf(orders[11]?.id);
  expect(after.map((line) => line.quantity)).toEqual([1250.75, before[1]?.quantity]);
  expect(after.map((line) => line.item_id)).toEqual(before.map((line) => line.item_id));
  await window.close();
});

test('two clerks at one order: the second chooses for each field that both have changed, and the other changes stay', async () => {
  const id = orders[11]?.id;
  const [first, second] = [await enterAs(clerk), await enterAs(await addUser(acme(), 'validator', 'anna'))];
  for (const window of [first, second]) await window.goto(`/orders/${id}`, /PO-012/);
  await second.page.getByText('Opened by validator Smit').waitFor();
  await first.page.getByLabel('Notes').fill('Ring twice');
  await first.page.getByLabel('Quantity, 1').fill('7');
  await first.press('Control+s');
  await first.page.getByText('Saved.', { exact: true }).waitFor();
  await second.page.getByLabel('Customer reference').fill('PO-012 B');
  await second.page.getByLabel('Notes').fill('Ring once');
  await second.page.getByLabel('Quantity, 1').fill('8');
  await second.press('Control+s');
  await second.page.getByText('Someone else has changed this order').waitFor();
  await second.screenshot('clerk-conflict');
  expect(await second.barriers()).toEqual([]);
  const chosen = second.page.getByRole('radiogroup', { name: 'Notes', exact: true });
  await chosen.getByText('Theirs: Ring twice').click();
  await second.page.getByRole('radiogroup', { name: '1 (Coffee beans 1 kg) · Quantity', exact: true }).waitFor();
  const notes = async () => second.page.getByRole('textbox', { name: 'Notes' }).inputValue();
  expect(await until(notes, (value) => value !== 'Ring once')).toBe('Ring twice');
  await second.press('Control+s');
  const saved = async () => acme().get('dyn_stock_order', String(id));
  expect(await until(saved, ({ customer_reference }) => customer_reference === 'PO-012 B')).toMatchObject({
    notes: 'Ring twice',
    customer_reference: 'PO-012 B',
  });
  expect((await linesOf(id))[0]?.quantity).toBe(8);
  // The refused save is the only error; a browser shows it by itself.
  expect(first.complaints).toEqual([]);
  expect(second.complaints.filter((each) => !each.includes('412'))).toEqual([]);
  await Promise.all([first.close(), second.close()]);
});

test('a list says when something is new; what the ERP refused is work of its own, with its reasons', async () => {
  const { window, page } = await enter();
  await window.goto('/refused', 'Refused by the ERP');
  await page.getByText('The ERP has refused nothing').waitFor();
  const refused = { processing_status: 'submit_failed', error_reason: ['Unknown article I1'] };
  await acme().update('dyn_stock_order', String(orders[0]?.id), refused);
  await page.getByRole('button', { name: '1 new' }).click();
  await page.getByText('Unknown article I1').waitFor();
  await window.screenshot('clerk-refused');
  await window.closeWithoutComplaint();
});

test('filters a list, gives what is shown a name, comes back to it, and removes it', async () => {
  const { window, page } = await enter();
  await acme().batch('dyn_party', [{ external_id: 'C2', name: 'Bakkerij Gouda' }]);
  const late = { buyer_customer_party_id: 'C2', delivery_date: '2020-01-06', accuracy: 0.7 };
  const day = new Date(Date.now() + 172_800_000).toLocaleDateString('sv', { timeZone: 'Europe/Amsterdam' });
  const inTime = { delivery_date: day, accuracy: 0.9 };
  for (const [customer_reference, more] of Object.entries({ 'LATE-1': {}, 'LATE-2': {}, 'IN-TIME': inTime }))
    await acme().create('dyn_stock_order', { ...late, customer_reference, ...more });
  await window.goto('/orders', 'To Validate');
  const rows = page.getByRole('table', { name: 'Order' }).getByRole('row');
  await page.getByRole('button', { name: 'Customer', exact: true }).click();
  await rows.nth(3).getByText('Bakkerij Gouda').waitFor();
  await rows.nth(4).getByText('Grand Café De Brug').waitFor();
  await page.getByText('Overdue', { exact: true }).click();
  await page.getByText('IN-TIME').waitFor({ state: 'detached' });
  await page.getByText('All', { exact: true }).click();
  await rows.filter({ hasText: 'IN-TIME' }).getByText('in 2 days').waitFor();
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('checkbox', { name: 'Accuracy' }).uncheck();
  await page.getByRole('columnheader', { name: 'Accuracy' }).waitFor({ state: 'detached' });
  await window.press('Escape');
  // The choice stands beside the views: the filters are all that is between it and the list.
  expect((await page.getByRole('table').boundingBox())?.y).toBeLessThan(240);
  await page.getByRole('button', { name: 'Filters' }).click();
  await page.getByLabel('Deliver on: to', { exact: true }).fill('07/01/2020');
  await page.getByText('2 rows').waitFor();
  await window.choose('State', 'Saved');
  await page.getByText('Nothing matches').waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await window.choose('Customer', /Bakkerij Gouda/, 'goda');
  await window.choose('Accuracy at most', '80 %');
  await page.getByText('2 rows').waitFor();
  await window.choose('Problems', 'Without problems');
  await page.getByText('Nothing matches. Change or clear the filters.').waitFor();
  await window.choose('Problems', 'With problems');
  await page.getByText('2 rows').waitFor();
  await rows.nth(1).getByText('1 problem', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Reference' }).click();
  await rows.nth(1).getByText('LATE-1').waitFor();
  await page.getByRole('button', { name: 'Reference' }).click();
  await rows.nth(1).getByText('LATE-2').waitFor();
  // On a phone each row shows what a clerk chooses by.
  await page.setViewportSize({ width: 390, height: 900 });
  for (const shown of ['Bakkerij Gouda', 'LATE-2', /6 Jan 2020/, 'Pending validation', '1 problem']) {
    const { x = 0, width = 390 } = (await rows.nth(1).getByText(shown).first().boundingBox()) ?? {};
    expect(x + width).toBeLessThan(390);
  }
  expect(await window.barriers()).toEqual([]);
  await window.screenshot('clerk-phone');
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole('button', { name: 'Save this view' }).click();
  await page.keyboard.type('Gouda first');
  await window.press('Enter');
  await page.getByRole('checkbox', { name: 'Gouda first', checked: true }).waitFor({ state: 'attached' });
  expect(await window.barriers()).toEqual([]);
  await window.screenshot('clerk-views');
  await window.goto('/orders', 'To Validate');
  await page.getByText('Gouda first').click();
  await page.getByText('2 rows').waitFor();
  await page.getByRole('button', { name: 'Remove: Gouda first' }).click();
  await page.getByText('Gouda first').waitFor({ state: 'detached' });
  await window.closeWithoutComplaint();
});

test('rows of a sheet are pasted into the lines; a problem leads to its field and goes when that is filled in; offline nothing is saved', async () => {
  const order = await acme().create('dyn_stock_order', {
    customer_reference: 'SHEET',
    buyer_customer_party_id: 'C1',
    lines: [{ line_number: 1, quantity: 1 }],
  });
  const { window, page } = await enter({ permissions: ['clipboard-read', 'clipboard-write'] });
  await window.goto(`/orders/${order.id}`, /SHEET/);
  await page.getByRole('button', { name: /^Delivery date: / }).click();
  const date = page.getByLabel('Delivery date', { exact: true });
  await date.and(page.locator(':focus')).fill('12/23/2026');
  await window.press('Tab');
  await page.getByText('Write a date such as 31/12/2026.').waitFor();
  await date.fill('23/12/2026');
  await page.getByRole('button', { name: 'Calendar: Delivery date', exact: true }).click();
  await window.press('ArrowRight', 'Enter');
  await page.locator('input[value="24/12/2026"]:not(.calendar)').waitFor();
  await page.getByRole('button', { name: /^Delivery date: / }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: /^1: Item: / }).waitFor();
  const item = page.getByRole('combobox', { name: 'Item, 1' });
  await item.fill('qqqq');
  await page.getByText('Nothing found').locator('visible=true').waitFor();
  const sheet = 'I1\t2,5\tPCE\nBlack tea, 100 bags\t12\tPiece\nNo such item\t1';
  await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(sheet)})`);
  await window.press('Control+v');
  await page.getByText('Not found, and left empty: No such item').waitFor();
  await page.getByRole('button', { name: /^1: Item: / }).waitFor({ state: 'detached' });
  await window.screenshot('clerk-pasted');
  await page.getByRole('button', { name: 'Remove this line, 3' }).click();
  await page.context().setOffline(true);
  await page.getByText('You are offline').waitFor();
  await window.press('Control+s');
  await page.getByText('The service does not answer').first().waitFor();
  await page.context().setOffline(false);
  await page.getByText('You are offline').waitFor({ state: 'detached' });
  expect((await acme().get('dyn_stock_order', String(order.id))).delivery_date).toBeNull();
  await window.press('Control+s');
  await page.getByText('Saved.', { exact: true }).waitFor();
  expect((await linesOf(order.id)).map(({ quantity, line_number }) => [line_number, quantity])).toEqual([
    [1, 2.5],
    [2, 12],
  ]);
  await page.getByLabel('Quantity, 1').fill('99');
  await page.getByRole('button', { name: 'Cancel' }).click();
  expect(await page.getByLabel('Quantity, 1').inputValue()).toBe('2.5');
  // Dates speak the language of the page, not that of the browser.
  await page.evaluate("localStorage.setItem('console.language', 'nl')");
  await page.reload();
  const wanted = page.getByLabel('Leverdatum', { exact: true });
  expect(await wanted.inputValue()).toBe('24-12-2026');
  await wanted.fill('31-2-2026');
  await window.press('Control+s');
  await page
    .getByText(/Het veld “Leverdatum” moet/)
    .first()
    .waitFor();
  await window.close();
});

test('an order of 200 lines opens at once, and takes typing also in its last lines', async () => {
  const [like] = (await acme().list('dyn_order_line')).data;
  const same = { item_id: like?.item_id, unit_code_id: like?.unit_code_id, unit_price: 2 };
  const lines = Array.from({ length: 200 }, (_, at) => ({ ...same, line_number: at + 1, quantity: at }));
  const order = await acme().create('dyn_stock_order', { customer_reference: 'LONG', currency_code: 'EUR', lines });
  const { window, page } = await enter();
  await window.goto('/orders', 'To Validate');
  // The time of the page's own thread: others have the machine as well.
  const devTools = await page.context().newCDPSession(page);
  await devTools.send('Performance.enable', { timeDomain: 'threadTicks' });
  const worked = async (act: () => Promise<void>): Promise<number> => {
    const seconds = async () => {
      const { metrics } = await devTools.send('Performance.getMetrics');
      return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN;
    };
    const before = await seconds();
    await act();
    return (await seconds()) - before;
  };
  const opened = await worked(async () => {
    await page.evaluate(
      `history.pushState({}, '', '/console/orders/${order.id}'); dispatchEvent(new Event('popstate'))`,
    );
    await page.getByLabel('Quantity, 200').waitFor();
  });
  await page.getByText('Total EUR 39,800.00').waitFor();
  // What is out of sight is not drawn before it is reached.
  await page.getByRole('combobox', { name: 'Item, 100' }).focus();
  await window.press('Tab');
  const typed = await worked(() => window.press('Control+a', ...'123456789'));
  expect(await page.getByLabel('Quantity, 100').inputValue()).toBe('123456789');
  expect(opened).toBeLessThan(scaled(1000) / 1000);
  expect(typed).toBeLessThan(scaled(500) / 1000);
  await window.closeWithoutComplaint();
});

/** The admin's data: a table that refers to another and an import of several batches. */
import { readFileSync } from 'node:fs';
import { useConsole, type Window } from './browser.js';
import { addOrders } from './people.js';

let window: Window;
const { acme, enter } = useConsole();

beforeAll(async () => {
  await addOrders(acme(), 1);
  const fields = [{ name: 'code', type: 'String', required: true, filterable: true }];
  await acme().platformData('POST', '/asset-types', { name: 'dyn_route', unique_field: 'code', fields });
  window = await enter(acme().admin);
});

test('a field that refers to another table: its record is looked up, and shown by its name with a link', async () => {
  const { page } = window;
  await window.goto('/tables/dyn_route', 'Route');
  await page.getByRole('button', { name: 'Add a field' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name in the API').fill('customer_id');
  await window.choose('Type', 'Table: Parties');
  await window.screenshot('admin-reference-field');
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Add a record' }).click();
  await dialog.getByLabel('Code').fill('R1');
  await window.choose('Customer', /De Brug/, 'brug');
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('link', { name: 'Grand Café De Brug' }).waitFor();
  await window.screenshot('admin-reference');
  expect((await acme().list('dyn_route')).data).toMatchObject([{ code: 'R1', customer_id: 'C1' }]);
  await page.getByRole('link', { name: 'R1' }).click();
  await page.getByRole('table', { name: 'Route' }).getByRole('link', { name: 'Grand Café De Brug' }).click();
  await page.getByRole('heading', { level: 1, name: 'Grand Café De Brug' }).waitFor();
  // Lines of orders have the ids of what they name.
  await window.goto('/tables/dyn_order_line', 'Order lines');
  await page.getByRole('link', { name: 'Coffee beans 1 kg' }).waitFor();
  expect(window.complaints).toEqual([]);
});

test('one search finds a customer, a page and an action; the guide and the console lead to each other', async () => {
  const { page } = window;
  const choose = async (typed: string, heading: string) => {
    // Keys are not for the page while it is open.
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await window.press('/');
    await page.getByPlaceholder('Find orders, records, pages and actions').fill(typed);
    await page.getByRole('dialog').getByRole('button', { name: heading }).last().click();
    await page.getByRole('heading', { name: heading }).waitFor();
  };
  await choose('brug', 'Grand Café De Brug');
  await choose('webho', 'Webhooks');
  await choose('user', 'Add a user');
  await window.press('Escape');
  await page.getByRole('link', { name: 'Guide' }).click();
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.getByRole('link', { name: 'Console' }).first().click();
  await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
  expect(window.complaints).toEqual([]);
});

test('an import of several batches and a clean-up: refused rows are a file, and one step undoes all of it', async () => {
  const { page } = window;
  await window.goto('/tables/dyn_item/import', /Import a file/);
  const check = async (rows: readonly string[]) => {
    const buffer = Buffer.from(['external_id,name', ...rows].join('\n'));
    await page.locator('input[type=file]').setInputFiles({ name: 'export.csv', mimeType: 'text/csv', buffer });
    await page.getByRole('button', { name: 'Check the file' }).click();
  };
  const rows = Array.from({ length: 1_200 }, (_, n) => `X${n},Item ${n}`);
  await check([...rows, 'X1,twice', 'X2,twice', ',no key']);
  await page.getByRole('row', { name: /An earlier row has the same key.*2 1202, 1203$/ }).waitFor();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download the refused rows' }).click(),
  ]);
  expect(readFileSync(await file.path(), 'utf8').split('\r\n')).toHaveLength(4);
  await page.reload();
  await check(rows);
  await page.getByLabel('Also delete the records that the file lacks (now 2)').check();
  await page.getByRole('button', { name: 'Import 1,200 rows' }).click();
  await page.getByRole('button', { name: 'Delete 2 records' }).click();
  await page.getByText('The import is complete.').waitFor();
  expect((await acme().list('dyn_item')).meta.total).toBe(1_200);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('dialog', { name: 'Undo: export.csv' }).getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Deleted, as it had created them: 1,200 records').waitFor();
  expect((await acme().list('dyn_item')).meta.total).toBe(2);
});

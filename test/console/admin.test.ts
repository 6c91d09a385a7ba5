/** The admin's day: a client and its secret, a webhook and its first delivery, a table of one's own, a new colleague. */
import { addWebhook, quickDelivery } from '../acceptance/export.js';
import { Receiver } from '../acceptance/receiver.js';
import { useConsole, type Window } from './browser.js';
import { addOrders } from './people.js';

const receiver = Receiver.ofTests();
let window: Window;
const { acme, open, enter } = useConsole(async () => ({ env: quickDelivery(receiver) }));

beforeAll(async () => {
  await addOrders(acme(), 2);
  window = await enter(acme().admin);
});
afterEach(() => {
  expect(window.complaints.splice(0)).toEqual([]);
});
async function speak(language: string): Promise<void> {
  await window.page.getByRole('button', { name: 'Admin acme' }).click();
  await window.page.getByRole('menuitem', { name: language }).click();
}

test('adds an API client, whose secret is shown once and works, changes it, and rotates it', async () => {
  const { page } = window;
  await window.goto('/api-clients', 'API clients');
  await page.getByRole('button', { name: 'Add an API client' }).click();
  await page.getByLabel('Name').fill('ERP <img src=x onerror=alert(1)>');
  await page.getByLabel('read:order_data').check();
  await page.getByRole('dialog').getByRole('button', { name: 'Add' }).click();
  const dialog = page.getByRole('dialog', { name: 'Client secret' });
  await dialog.waitFor();
  const [id = '', secret = ''] = await dialog.locator('code').allTextContents();
  await window.screenshot('admin-secret');
  const credentials = { grant_type: 'client_credentials', client_id: id, client_secret: secret };
  expect((await acme().requestToken(credentials)).status).toBe(200);
  await dialog.getByRole('button', { name: 'Close' }).last().click();
  const row = page.getByRole('row', { name: /onerror/ });
  await row.getByText('Never').waitFor();
  await row.getByRole('button', { name: 'Edit' }).click();
  await page.getByLabel('write:reference_data').uncheck();
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await row.getByText('read:reference_data, read:order_data', { exact: true }).waitFor();
  const renew = async (label: string) => {
    await row.getByRole('button', { name: label }).click();
    const asked = page.getByRole('dialog', { name: /onerror/ });
    await asked.getByRole('button', { name: label }).click();
    await page.getByRole('dialog', { name: 'Client secret' }).getByRole('button', { name: 'Close' }).last().click();
  };
  await renew('Rotate the secret');
  await row.getByText('The old secret works until').waitFor();
  expect((await acme().requestToken(credentials)).status).toBe(200);
  await renew('Replace the secret at once');
  expect((await acme().requestToken(credentials)).status).toBe(401);
});

test('adds a webhook, sends a test, and opens what was sent and answered', async () => {
  const { page } = window;
  await window.goto('/webhooks', 'Webhooks');
  await page.getByText('No webhook receives your approved orders').waitFor();
  await page.getByRole('button', { name: 'Add a webhook' }).first().click();
  await page.getByLabel('Address (HTTPS)').fill(receiver.url('/erp'));
  await page.getByRole('dialog').getByRole('button', { name: 'Add' }).and(page.locator(':disabled')).waitFor();
  await page.getByLabel('Name').fill('ERP');
  // The browser would make another number of it.
  await page.getByLabel('Custom data (JSON object)').fill('{"account": 12345678901234567890}');
  await page.getByRole('dialog').getByRole('button', { name: 'Add' }).click();
  await page.getByRole('dialog').getByRole('alert').waitFor();
  expect(window.complaints.splice(0)).toEqual([expect.stringContaining('status of 422')]);
  await page.getByLabel('Custom data (JSON object)').fill('{"account": "12345678901234567890"}');
  await page.getByRole('dialog').getByRole('button', { name: 'Add' }).click();
  await page.getByRole('dialog', { name: 'Secret' }).getByRole('button', { name: 'Close' }).last().click();
  await page.getByRole('link', { name: 'ERP', exact: true }).click();
  await page.getByRole('button', { name: 'Send a test' }).click();
  await page.getByRole('dialog').getByRole('combobox', { name: 'Event' }).click();
  await page.getByRole('option', { name: 'order.approved' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Send a test' }).click();
  await receiver.received('/erp', 1);
  const deliveries = page.getByRole('table', { name: 'Deliveries' });
  await deliveries.getByText('Delivered').waitFor();
  await page.getByRole('img', { name: /^1 delivery in 24 hours/ }).waitFor();
  await window.screenshot('admin-webhook');
  await deliveries.getByRole('link').first().click();
  await page.getByText('What was sent').first().click();
  await page.getByText('Its hash is the one that was noted').waitFor();
  await page.getByText('"validated_order"').waitFor();
  await page.getByRole('row', { name: 'webhook-event order.approved' }).waitFor();
  await page.getByText('Answer: headers').click();
  await page.getByRole('row', { name: /^date .* GMT$/ }).waitFor();
  await window.screenshot('admin-delivery');
});

test('a webhook that fails is red in the list; what failed is found, counted and sent again', async () => {
  const { page } = window;
  const broken = await addWebhook(acme(), receiver.url('/broken'), { name: 'Broken', events: ['order.updated'] });
  receiver.reply('/broken', (nth) => ({ status: nth === 1 ? 302 : 500 }));
  const { data } = await acme().list('dyn_stock_order');
  await acme().update('dyn_stock_order', String(data[0]?.id), { notes: 'changed' });
  await window.goto(`/webhooks/${broken.id}`, 'Broken');
  const deliveries = page.getByRole('table', { name: 'Deliveries' });
  await deliveries.getByText('Failed').waitFor();
  await deliveries.getByRole('link', { name: 'PO-' }).waitFor();
  await window.goto('/webhooks', 'Webhooks');
  const row = page.getByRole('row', { name: /Broken/ });
  await row.locator('[style*="red"]', { hasText: '1 of 1 failed' }).waitFor();
  await window.screenshot('admin-webhooks');
  await page.getByRole('link', { name: 'Broken' }).click();
  receiver.reply('/broken', () => ({ status: 200 }));
  await window.choose('State', 'Failed');
  await window.choose('Event', 'order.updated');
  await window.choose('Order', String(data[0]?.customer_reference), 'PO-');
  await deliveries.getByText('Failed').waitFor();
  await window.screenshot('admin-webhook-failing');
  await page.getByRole('button', { name: 'Send earlier events' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Failed since then: 1').waitFor();
  await window.screenshot('admin-backfill');
  await dialog.getByRole('button', { name: 'Send earlier events' }).click();
  await receiver.received('/broken', 2);
  await deliveries.getByRole('link').first().click();
  await page.getByRole('button', { name: 'Send again' }).click();
  await page.getByText('Delivered').first().waitFor();
  await page.goBack();
  await page.getByText('1. redirect (HTTP 302) is not followed').waitFor();
  await speak('Nederlands');
  await page.getByText('1. doorverwijzing (HTTP 302) wordt niet gevolgd').waitFor();
  await speak('English');
  // As if there were more of them than are looked at.
  const all = (await acme().platformData('GET', `/webhooks/${broken.id}/deliveries`)) as readonly object[];
  const json = { data: Array(100).fill(all.at(-1)), links: { next: '/?cursor=1' } };
  await page.route(/deliveries\?since/, (route) => route.fulfill({ json }));
  await window.goto('/webhooks', 'Webhooks');
  await row.getByText('500+ of 500+ failed').waitFor();
});

test('adds a table of its own and a field to it', async () => {
  const { page } = window;
  await window.goto('/tables', 'Tables');
  await page.getByRole('button', { name: 'Add a table' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name in the API').first().fill('dyn_route');
  await dialog.getByLabel('Label').fill('Routes');
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Routes' }).waitFor();
  await page.getByText('This table is empty').waitFor();
  await page.getByRole('button', { name: 'Add a field' }).click();
  await page.getByRole('dialog').getByLabel('Name in the API').fill('day');
  await page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Add a record' }).click();
  await page.getByRole('dialog').getByLabel('External ID').fill('R1');
  await page.getByRole('dialog').getByLabel('Day').fill('monday');
  await page.getByRole('dialog').getByRole('button', { name: 'Add' }).click();
  await page.getByText('monday').waitFor();
  await page.getByRole('link', { name: 'R1' }).click();
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('dialog').getByLabel('Day').fill('tuesday');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  const fields = page.getByRole('table', { name: 'Routes' });
  await fields.getByText('tuesday').waitFor();
  // A colleague is faster, with the same field.
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('dialog').getByLabel('Day').fill('wednesday');
  const [record] = (await acme().list('dyn_route')).data;
  await acme().update('dyn_route', String(record?.id), { day: 'friday' });
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog').getByText('Theirs: friday').waitFor();
  expect(window.complaints.splice(0)).toEqual([expect.stringContaining('status of 412')]);
  await window.screenshot('admin-record-conflict');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await fields.getByText('wednesday').waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog', { name: 'Delete: R1' }).getByRole('button', { name: 'Delete' }).click();
  await page.getByText('The record is deleted').waitFor();
  expect(window.complaints.splice(0)).toEqual([expect.stringContaining('status of 404')]);
  await window.screenshot('admin-record-deleted');
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('dialog', { name: 'Undo' }).getByRole('button', { name: 'Undo' }).click();
  await fields.getByText('wednesday').waitFor();
  await window.goto('/tables', 'Tables');
  const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'Routes' }) });
  await row.getByRole('cell').nth(1).getByText('1', { exact: true }).waitFor();
  await row.getByRole('time').waitFor();
  await window.screenshot('admin-tables');
});

test('names a table and its fields in Dutch; retires a field, which the past still has', async () => {
  const { page } = window;
  await window.goto('/tables/dyn_route', 'Routes');
  await page.getByRole('button', { name: 'Labels and fields' }).click();
  const dialog = page.getByRole('dialog', { name: 'Labels and fields' });
  expect(await dialog.locator('label bdi').first().textContent()).toBe('Routes');
  await dialog.getByLabel('Routes (Nederlands)').fill('Ritten');
  await dialog.getByLabel('Day (Nederlands)').fill('Dag');
  await window.screenshot('admin-labels');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  await speak('Nederlands');
  await page.getByRole('heading', { level: 1, name: 'Ritten' }).waitFor();
  await page.getByRole('columnheader', { name: 'Dag' }).waitFor();
  await window.screenshot('admin-labels-dutch');
  await speak('English');
  await page.getByRole('columnheader', { name: 'Day' }).waitFor();
  const then = new Date().toISOString();
  await page.getByRole('button', { name: 'Labels and fields' }).click();
  await dialog.getByRole('button', { name: 'Retire' }).click();
  const asked = page.getByRole('dialog', { name: 'Retire: Day' });
  await window.screenshot('admin-retiring');
  await asked.getByRole('button', { name: 'Retire' }).click();
  await dialog.getByRole('button', { name: 'Take back' }).waitFor();
  await window.screenshot('admin-retired');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('columnheader', { name: 'Day' }).waitFor({ state: 'detached' });
  await window.goto(`/tables/dyn_route?at=${then}`, 'Routes');
  await page.getByRole('columnheader', { name: 'Day (retired)' }).waitFor();
  await page.getByText('wednesday').waitFor();
  await window.screenshot('admin-retired-past');
  await window.goto('/tables/dyn_route', 'Routes');
  await page.getByRole('link', { name: 'R1' }).click();
  await page.getByRole('slider', { name: 'Moment' }).focus();
  await window.press('ArrowLeft', 'ArrowLeft');
  await page.getByRole('table', { name: 'Routes' }).getByText('Day (retired)').waitFor();
});

test('filters a table by the address, and a link shows the same', async () => {
  const { page } = window;
  await window.goto('/tables/dyn_item', 'Items');
  await page.getByRole('combobox', { name: 'Filter' }).fill('Name');
  await page.getByRole('option', { name: 'Name', exact: true }).click();
  await page.getByRole('textbox', { name: 'Search' }).fill('coffee');
  await window.press('Enter');
  await page.getByText('1 row').waitFor();
  await page.getByRole('button', { name: 'Remove: Name contains coffee' }).waitFor();
  expect((await page.getByRole('button', { name: 'Columns' }).boundingBox())?.y).toBeLessThan(180);
  const link = page.url();
  const other = await enter(acme().admin);
  await other.page.goto(link);
  await other.page.getByText('Coffee beans 1 kg').waitFor();
  expect(await other.page.getByText('Black tea').count()).toBe(0);
  await other.close();
});

/** Chooses a file of these lines, matches its columns, and has it checked. */
async function checkFile(
  table: string,
  heading: RegExp,
  lines: readonly string[],
  encoding: 'utf8' | 'latin1' = 'utf8',
) {
  const { page } = window;
  await window.goto(`/tables/${table}/import`, heading);
  const buffer = Buffer.from(lines.join('\r\n'), encoding);
  await page.locator('input[type=file]').setInputFiles({ name: 'export.csv', mimeType: 'text/csv', buffer });
  await page.getByRole('button', { name: 'Check the file' }).click();
}

test('imports a file: sees refused rows and differences first, then imports it, and undoes it', async () => {
  const { page } = window;
  await checkFile('dyn_item', /Items: Import a file/, [
    'External ID;Name;Remark',
    'I1;Coffee beans, 2 kg;x',
    'I2;Black tea, 100 bags;',
    'I3;"<img src=x onerror=""document.title=1"">";',
    'I3;twice;',
    ';no key;',
  ]);
  await page.getByText('1 new, 1 changed, 1 unchanged, 2 refused').waitFor();
  await page.getByRole('row', { name: /An earlier row has the same key.*1 5$/ }).waitFor();
  await page.getByRole('row', { name: /required.*1 6$/ }).waitFor();
  await page.getByRole('cell', { name: 'x', exact: true }).waitFor();
  await page.getByText('Coffee beans 1 kg → Coffee beans, 2 kg').waitFor();
  expect(await page.getByRole('checkbox').count()).toBe(0);
  // The browser's own note of the dry run that was refused.
  expect(window.complaints.splice(0)).toEqual([expect.stringContaining('422')]);
  expect(await window.barriers()).toEqual([]);
  await window.screenshot('admin-import');
  await page.getByRole('button', { name: 'Import 3 rows' }).click();
  await page.getByText('The import is complete.').waitFor();
  const names = async () => (await acme().list('dyn_item', { sort: 'external_id' })).data.map(({ name }) => name);
  expect(await names()).toEqual([
    'Coffee beans, 2 kg',
    'Black tea, 100 bags',
    '<img src=x onerror="document.title=1">',
  ]);
  await page.getByRole('button', { name: 'Undo' }).click();
  const dialog = page.getByRole('dialog', { name: 'Undo: export.csv' });
  await dialog.getByRole('button', { name: 'Undo' }).click();
  await dialog.getByText('This is what it did').waitFor();
  await dialog.getByText('Back to earlier values, or there again: 1 record').waitFor();
  await dialog.getByText('Deleted, as it had created them: 1 record').waitFor();
  await window.screenshot('admin-undo');
  expect(await names()).toEqual(['Coffee beans 1 kg', 'Black tea, 100 bags']);
});

test('says how a file of an older spreadsheet is written, shows its values as read, and reads it as one says', async () => {
  const { page } = window;
  const lines = ['sep=;', 'External ID;Name;Net weight (kg);Active', 'I8;Café crème;1.250,5;ja', 'I9;Thé;1,25;nee'];
  await checkFile('dyn_item', /Items: Import a file/, lines, 'latin1');
  await page.getByText('2 new, 0 changed, 0 unchanged, 0 refused').waitFor();
  for (const [label, guess] of [
    ['Encoding', 'Windows-1252'],
    ['Row of the names', '2'],
    ['Numbers', '1250,75'],
    ['Words for true', 'true yes ja waar 1'],
  ] as const)
    expect(await page.getByLabel(label, { exact: true }).first().inputValue()).toBe(guess);
  const columns = page.getByRole('table', { name: 'Columns of the file' });
  await columns.getByText('Café crème · Thé').waitFor();
  await columns.getByText('1250.5 · 1.25').waitFor();
  await window.screenshot('admin-import-dialect');
  expect(await window.barriers()).toEqual([]);
  await window.choose('Numbers', '1250.75');
  await columns.getByText('1250.5 · 1,25 (?)').waitFor();
  await window.choose('Numbers', '1250,75');
  await page.getByRole('button', { name: 'Check the file' }).click();
  await page.getByRole('button', { name: 'Import 2 rows' }).click();
  await page.getByText('The import is complete.').waitFor();
  const { data } = await acme().list('dyn_item', { 'filter[external_id]': 'I8' });
  expect(data).toMatchObject([{ name: 'Café crème', net_weight: 1250.5, active: true }]);
  await page.getByRole('link', { name: 'Changes by batch' }).click();
  await page.getByRole('button', { name: 'Undo' }).first().click();
  await page.getByRole('dialog', { name: 'Undo' }).getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('dialog', { name: 'Undo' }).getByText('This is what it did').waitFor();
});

test('a file that is the whole table takes the rest away, and the guard asks for their number first', async () => {
  const { page } = window;
  await window.goto('/settings', 'Settings');
  await page.getByRole('region', { name: 'Rate limit' }).getByRole('button', { name: 'Save' }).click();
  await window.screenshot('admin-refusal');
  expect(window.complaints.splice(0)).toEqual([expect.stringContaining('422')]);
  await acme().platformData('PUT', '/tenant', { clean_up_guard: { max_percent: 10 } });
  await checkFile('dyn_item', /Items: Import a file/, ['external_id,name', 'I1,Coffee beans 1 kg']);
  await page.getByLabel('Also delete the records that the file lacks (now 1)').check();
  await page.getByRole('button', { name: 'Import 1 row' }).click();
  await page.getByText('The file lacks 1 record').waitFor();
  await page.getByRole('button', { name: 'Delete 1 record' }).click();
  await page.getByLabel('Number of records to delete').fill('1');
  await window.screenshot('admin-import-guard');
  // Somebody adds one meanwhile, so that it is no longer the number that was confirmed.
  await acme().create('dyn_item', { external_id: 'I9', name: 'Cocoa' });
  await page.getByRole('button', { name: 'Delete 1 record' }).click();
  await page.getByText('The file lacks 2 records').waitFor();
  await page.getByLabel('Number of records to delete').fill('2');
  await page.getByRole('button', { name: 'Delete 2 records' }).click();
  await page.getByText('The import is complete.').waitFor();
  expect(window.complaints.splice(0)).toEqual(Array(2).fill(expect.stringContaining('422')));
  expect((await acme().list('dyn_item')).meta.total).toBe(1);
});

test('a day later takes a clean-up back that was wrong', async () => {
  const { page } = window;
  await window.goto('/tables/dyn_item/operations', /Changes by batch/);
  const row = page.getByRole('table', { name: 'Changes by batch' }).getByRole('row').nth(1);
  await row.getByText('Clean-up').waitFor();
  await window.screenshot('admin-operations');
  await row.getByRole('button', { name: 'Undo' }).click();
  const dialog = page.getByRole('dialog', { name: 'Undo' });
  await dialog.getByRole('button', { name: 'Undo' }).click();
  await dialog.getByText('This is what it did').waitFor();
  expect((await acme().list('dyn_item')).meta.total).toBe(3);
});

test('invites a colleague by a link, behind which they choose a password and are signed in', async () => {
  const { page } = window;
  await window.goto('/users', 'Users');
  await page.getByRole('button', { name: 'Add a user' }).click();
  await page.getByLabel('E-mail address').fill('new+one@example.com');
  await page.getByLabel('First name').fill('Nora');
  await page.getByLabel('Last name').fill('de Wit');
  await page.getByRole('dialog').getByRole('button', { name: 'Add' }).click();
  const dialog = page.getByRole('dialog', { name: 'Invitation' });
  const link = (await dialog.locator('code').first().textContent()) ?? '';
  await window.screenshot('admin-invitation');
  await dialog.getByRole('button', { name: 'Close' }).last().click();
  await page.getByRole('row', { name: /Nora/ }).getByText('Invited until').waitFor();
  const other = await open();
  await other.page.goto(link);
  expect(await other.page.getByLabel('E-mail address').inputValue()).toBe('new+one@example.com');
  await other.page.getByLabel('New password').fill('Wachtwoord1234');
  await other.press('Enter');
  await other.page.getByText(/^The new password field .*guessed first/).waitFor();
  expect(other.complaints.splice(0)).toEqual([expect.stringContaining('422')]);
  expect(await other.barriers()).toEqual([]);
  await other.screenshot('admin-welcome');
  await other.page.getByLabel('New password').fill('the battery of the horse');
  await other.press('Enter');
  await other.page.getByRole('navigation').waitFor();
  // A validator has no settings to see.
  expect(await other.page.getByRole('link', { name: 'API clients' }).count()).toBe(0);
  expect(other.complaints).toEqual([]);
  await other.page.goto(link);
  await other.page.reload();
  await other.page.getByLabel('New password').fill('the staple of the battery');
  await other.press('Enter');
  await other.page.getByText('The link was used already').waitFor();
  await other.close();
});

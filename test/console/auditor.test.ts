/** The auditor's day: who did what, what it changed, two moments compared; nothing can be changed. */
import { setTimeout as wait } from 'node:timers/promises';
import { useConsole, type Window } from './browser.js';
import { addOrders, addUser } from './people.js';

let window: Window;
const { acme, enter, service } = useConsole();

beforeAll(async () => {
  await addOrders(acme(), 1);
  const { data: items } = await acme().list('dyn_item', { sort: 'created_at' });
  madeAt = Date.parse(String(items.at(-1)?.created_at));
  window = await enter(await addUser(acme(), 'auditor'));
});
afterEach(() => expect(window.complaints.splice(0)).toEqual([]));

/** When the last of the items was made. */
let madeAt: number;
/** The next whole second, when nothing was wiped yet; and in the person's zone, as the field takes it. */
let nextSecond: Date;
let before: string;

test('finds who wiped the items, and which they were', async () => {
  const { page } = window;
  nextSecond = new Date(Math.floor(madeAt / 1_000 + 1) * 1_000);
  while (Date.now() <= nextSecond.getTime()) await wait(50);
  before = nextSecond.toLocaleString('sv', { timeZone: 'Europe/Amsterdam' }).replace(' ', 'T');
  await acme().batch('dyn_item', [{ external_id: 'I9', name: 'Last one', _batch_id: 'b' }]);
  await acme().cleanUp('dyn_item', 'b');
  const headings = page.getByRole('heading', { level: 2 });
  expect(await headings.allInnerTexts()).toEqual(['Activity', 'Latest orders']);
  await window.goto('/activity?kind=table.clean_up&table=dyn_item', 'Activity');
  await page.getByText('0 created, 0 updated, 2 deleted').waitFor();
  await window.screenshot('auditor-activity');
  await page.getByRole('table', { name: 'Activity' }).getByRole('link').first().click();
  await page.getByText('POST /api/v1/dynamic-assets/dyn/dyn_item/assets/clean-up').waitFor();
  await page.getByRole('link', { name: 'Compare two moments' }).click();
  await page.getByText('Coffee beans 1 kg').waitFor();
  await page
    .getByRole('note')
    .getByText(/^Differences: just before it → \d+ \w+ 20/)
    .waitFor();
  await window.screenshot('auditor-clean-up');
});

test('compares two moments of a table, and sees it as it was', async () => {
  const { page } = window;
  await window.goto('/tables/dyn_item/compare', /Compare two moments/);
  await page.getByText('See which records were created').waitFor();
  await page.getByRole('textbox', { name: 'From' }).fill(before);
  await page.getByRole('button', { name: 'Compare' }).click();
  await page.getByText('Last one').waitFor();
  await page.reload();
  await page.getByText('Last one').waitFor();
  await page
    .getByRole('note')
    .getByText(/^Differences: \d.+ → \d/)
    .waitFor();
  await window.screenshot('auditor-compare');
});

test('narrows the activity by who, what and which order, and reads what the proof of an entry says', async () => {
  const { page } = window;
  await window.goto('/activity', 'Activity');
  const table = page.getByRole('table', { name: 'Activity' });
  expect(await table.locator('time').first().getAttribute('title')).toMatch(/^\d{4}-[\d: .-]+ UTC$/);
  const created = table.getByRole('row', { name: /created PO-001 for Grand Café De Brug/ });
  await created.first().waitFor();
  await page.getByRole('button', { name: 'Show only this: PO-001' }).first().click();
  await page.waitForURL(/order_id=/);
  await table.getByText('Items').first().waitFor({ state: 'detached' });
  const chosen = page.getByRole('combobox', { name: 'Order' });
  await chosen.and(page.locator('input[value*="PO-001"]')).waitFor();
  await table.getByRole('button', { name: 'created', exact: true }).first().click();
  await page.waitForURL(/kind=order\.created/);
  await window.isQuiet();
  expect(await window.barriers()).toEqual([]);
  await window.screenshot('auditor-chips');
  // One is signed each hour, or when told to.
  expect(await service().cli('audit', 'checkpoint')).toMatchObject({ code: 0 });
  await table.getByRole('link').first().click();
  await page.getByText('Proof that it is in the log').click();
  await page.getByText(/The event is number \d+ of the \d+ that/).waitFor();
  await window.screenshot('auditor-proof');
});

test('gives moments in the zone of the person: of a table as it was, and of the activity and its file', async () => {
  const { page } = window;
  await window.goto('/tables/dyn_item', /./);
  await page.getByRole('textbox', { name: 'As it was at' }).fill(before);
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await page.getByText('Coffee beans 1 kg').waitFor();
  expect(decodeURIComponent(page.url())).toContain(nextSecond.toISOString());
  const past = page.getByRole('note').filter({ hasText: 'You see the past' });
  await past.waitFor();
  await window.screenshot('auditor-past');
  // A record that is opened there shows the same moment. Now it is deleted, by the clean-up.
  await page.getByRole('link', { name: 'I1' }).click();
  await page.getByRole('heading', { level: 1, name: 'Coffee beans 1 kg' }).waitFor();
  await past.getByRole('button', { name: 'Back to now' }).click();
  await page.getByText('The record is deleted.').waitFor();
  expect(window.complaints.splice(0)).toEqual([expect.stringMatching(/ 404 /)]);
  await page.goBack();
  await past.getByRole('button', { name: 'Back to now' }).click();
  await past.waitFor({ state: 'detached' });

  await window.goto('/activity', 'Activity');
  await page.getByLabel('From', { exact: true }).fill(before);
  await page.waitForURL(/from=/);
  await page.getByText('0 created, 0 updated, 2 deleted').waitFor();
  const file = await page.getByRole('link', { name: 'Download' }).getAttribute('href');
  expect(new URL(file ?? '', 'http://localhost').searchParams.get('from')).toBe(nextSecond.toISOString());
});

test('reads an order and its history, and finds nothing that would change something', async () => {
  const { page } = window;
  const { data } = await acme().list('dyn_stock_order');
  await window.goto(`/orders/${data[0]?.id}`, /PO-001/);
  await page.getByText('First API client created an order').waitFor();
  for (const name of ['Save', 'Approve and next', 'Reject', 'Add a line']) {
    expect(await page.getByRole('button', { name, exact: true }).count()).toBe(0);
  }
  await page.locator('[data-field="customer_reference"]').getByText('Customer reference', { exact: true }).waitFor();
  expect(await page.getByRole('textbox').count()).toBe(0);
  for (const [path, heading] of [
    ['/webhooks', 'Webhooks'],
    ['/api-clients', 'API clients'],
    ['/users', 'Users'],
    ['/settings', 'Settings'],
    ['/tables', 'Tables'],
  ] as const) {
    await window.goto(path, heading);
    const acts = page.getByRole('main').getByRole('button', { name: /^(Add|Save|Edit|Remove)/ });
    expect(await acts.count()).toBe(0);
  }
});

test('follows a record through its history, and an order through everything that happened; takes its export along', async () => {
  const { page } = window;
  const [party] = (await acme().list('dyn_party')).data;
  await acme().update('dyn_party', String(party?.id), { city_name: 'Leiden' });
  await window.goto(`/tables/dyn_party/records/${party?.id}`, /Grand Café/);
  await page.getByText('1 field').click();
  await page.getByText(/^City name: .+ → Leiden$/).waitFor();
  // By keyboard, one change back: the city as it was, and who had set it.
  await page.getByRole('slider', { name: 'Moment' }).focus();
  await window.press('ArrowLeft');
  const shown = page.getByRole('table', { name: 'Parties' });
  await shown.getByText('Leiden').waitFor({ state: 'detached' });
  await page.getByRole('status').getByText('Created').waitFor();
  expect(await window.barriers()).toEqual([]);
  await window.screenshot('auditor-record');
  await window.press('ArrowRight');
  await shown.getByText('Leiden').waitFor();
  const { data } = await acme().list('dyn_stock_order');
  await acme().update('dyn_stock_order', String(data[0]?.id), {
    processing_status: 'submit_failed',
    error_reason: ['Unknown article'],
  });
  await window.goto(`/orders/${data[0]?.id}/replay`, 'PO-001 · Everything that happened');
  await page.getByText('Unknown article').first().waitFor();
  await page.getByText(/^Delivery date: – → 1 Dec 2026$/).waitFor();
  const quantity = page.getByText(/^1 · Quantity: – → 6$/);
  await quantity.first().waitFor();
  await window.screenshot('auditor-replay');
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: /Export for a dispute/ }).click();
  expect((await download).suggestedFilename()).toMatch(/^order-.*\.zip$/);
});

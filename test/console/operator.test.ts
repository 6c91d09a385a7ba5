/** The operator's day: a link from the command line, a parked tenant, a retry, a proof, the log; each page in each colour and language. */
import { userInfo } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { newId } from '#app/commands/clock.js';
import { tableStream } from '#app/domain/streams.js';
import { addWebhook } from '../acceptance/export.js';
import { appendByHand } from '../acceptance/logEvent.js';
import { type Service, startService } from '../acceptance/service.js';
import { scaled } from '../engines/timeScale.js';
import { makeSheet, startBrowser, Window } from './browser.js';

let service: Service;
let browser: Browser;
let window: Window;
const acme = () => service.tenant('acme');
const at = () => ({ host: `operator.service.localhost:${service.port}` });

const newLink = async (): Promise<string> => (await service.cli('console')).stdout.split('\n')[0] ?? '';

/** What the rows of acme cannot store while the trigger is there. */
function change(statement: string): void {
  const db = openSqlite(`${service.dataDir}/rows/acme.db`);
  db.exec(statement);
  db.close();
}

beforeAll(async () => {
  [service, browser] = await Promise.all([
    startService({ tenants: { acme: 'dyn_stock_order', hauler: 'dyn_transport_order' } }),
    startBrowser(),
  ]);
  await acme().create('dyn_item', { external_id: 'tea', name: 'Tea' });
  await addWebhook(acme(), 'https://example.com/hook', { name: '<img src=x onerror="document.title=\'owned\'">' });
  await service.stop();
  change(`CREATE TRIGGER lost BEFORE INSERT ON rows WHEN NEW.key = 'coffee'
    BEGIN SELECT RAISE(ABORT, 'The document is lost.'); END`);
  const fields = { external_id: 'coffee', name: 'Coffee' };
  const items = tableStream('acme', 'dyn_item');
  await appendByHand({ DATA_DIR: service.dataDir }, items, 'RecordCreated', { id: newId(), fields });
  await service.start();
  while ((await acme().getList('dyn_item')).status !== 503) await wait(50);
  window = await Window.open(browser, at());
});
afterEach(() => {
  expect(window.complaints.splice(0)).toEqual([]);
});
afterAll(async () => {
  await browser?.close();
  await service?.dispose();
});

test('without a session it says how to get one; the link opens it, once, and leaves the address', async () => {
  const { page } = window;
  await window.goto('/operator', 'You have no session');
  await page.getByText('npx dynamic-assets console').waitFor();
  const link = await newLink();
  await page.goto(link);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  expect(page.url()).toBe(`http://${at().host}/console/operator`);
  const other = await Window.open(browser, at());
  await other.page.goto(link);
  await other.page.getByText('The link was used before.').waitFor();
  expect(other.complaints.filter((each) => !each.includes('401'))).toEqual([]);
  await other.close();
});

test('finds the parked tenant, sees the event and why it was not applied, and retries it', async () => {
  const { page } = window;
  await page.getByText('The document is lost.').waitFor();
  await page.getByRole('img', { name: /^Requests a second: .* errors [\d.]+; highest / }).waitFor();
  await window.screenshot('operator-overview');
  await page.getByRole('link', { name: 'acme', exact: true }).click();
  await page.getByText('The document is lost.').waitFor();
  await window.screenshot('operator-tenant-parked');
  await page.getByRole('button', { name: 'Retry' }).click();
  await page.getByText('acme: tried again').waitFor();
  change('DROP TRIGGER lost');
  await page.getByRole('button', { name: 'Retry' }).click();
  await page.getByText('running', { exact: true }).waitFor();
  expect((await acme().list('dyn_item')).meta.total).toBe(2);
});

test('verifies the rows of the tenant, and rebuilds those of all', async () => {
  const { page } = window;
  await page.getByRole('button', { name: 'Verify' }).click();
  await page.getByText('acme: equal to the log').waitFor();
  await window.screenshot('operator-tenant-verified');
  await window.press('g', 'o');
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await page.getByRole('button', { name: 'Rebuild' }).click();
  await window.screenshot('operator-rebuild');
  await page.getByRole('dialog').getByRole('button', { name: 'Rebuild' }).click();
  await page.getByText('hauler: rebuilt').waitFor();
  await page.getByRole('button', { name: 'Back up' }).click();
  await page.getByText('Set BACKUP_DIR first.').waitFor();
  expect(await page.getByText('is parked').count()).toBe(0);
});

test('opens a tenant, and shows the credentials of its admin and its API client once', async () => {
  const { page } = window;
  await window.press('g', 't');
  await page.getByRole('button', { name: 'New tenant' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('newcomer');
  await dialog.getByRole('button', { name: 'Add' }).click();
  await dialog.getByText('admin@newcomer.example').waitFor();
  await window.screenshot('operator-credentials');
  const [, password = ''] = await dialog.locator('code').allInnerTexts();
  await dialog.getByRole('button', { name: 'Close' }).last().click();
  await page.setViewportSize({ width: 390, height: 900 });
  await page.getByRole('link', { name: 'newcomer', exact: true }).waitFor();
  await page.setViewportSize({ width: 1_280, height: 720 });
  const person = await Window.open(browser, { host: `newcomer.localhost:${service.port}` });
  await person.signIn({ email: 'admin@newcomer.example', password });
  await person.close();
});

test('browses a stream of the log to one event, whose secrets are left out, and from there to the next', async () => {
  const { page } = window;
  await window.press('g', 'l');
  await page.getByRole('heading', { level: 1, name: 'Event log' }).waitFor();
  await page.getByLabel('Stream').fill('webhooks-acme');
  await page.waitForURL('**/operator/log?stream=webhooks-acme');
  await page.getByRole('button', { name: 'WebhookCreated' }).click();
  await page.getByText('"sealedSecret": "left out"').waitFor();
  await window.screenshot('operator-event');
  await page.keyboard.press('Escape');
  await page.locator('option[value="table-acme.dyn_item"]').waitFor({ state: 'attached' });
  await page.getByLabel('Stream').fill('table-acme.dyn_item');
  await page.waitForURL('**/operator/log?stream=table-acme.dyn_item');
  await page.getByRole('button', { name: 'RecordCreated' }).first().click();
  await page.getByText('"Coffee"').waitFor();
  await page.getByRole('button', { name: 'Older event' }).click();
  await page.getByText('"Tea"').waitFor();
  await page.getByRole('button', { name: 'Newer event' }).click();
  await page.getByText('"Coffee"').waitFor();
  await page.keyboard.press('Escape');
  await page.getByLabel('Go to: revision').fill('0');
  await page.waitForURL('**/operator/log?stream=table-acme.dyn_item&at=0');
  await page.getByRole('button', { name: 'RecordCreated' }).nth(1).waitFor({ state: 'detached' });
  await page.getByLabel('Stream').fill('');
  await page.getByRole('combobox', { name: 'Event', exact: true }).fill('webhookc');
  await page.getByRole('option', { name: 'WebhookCreated' }).click();
  await page.waitForURL('**/operator/log?type=WebhookCreated');
  await page.getByRole('button', { name: 'RecordCreated' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'WebhookCreated' }).waitFor();
});

test('the session ends with the tab, and when the operator says so', async () => {
  const { page } = window;
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'Event log' }).waitFor();
  const other = await Window.open(browser, at());
  await other.goto('/operator', 'You have no session');
  await other.close();
  await page.getByRole('button', { name: userInfo().username }).click();
  await page.getByRole('menuitem', { name: 'End the session' }).click();
  await page.getByRole('heading', { name: 'You have no session' }).waitFor();
});

const PAGES: readonly (readonly [path: string, heading: string])[] = [
  ['/operator', 'Overview'],
  ['/operator/tenants', 'Tenants'],
  ['/operator/tenants/acme', 'acme'],
  ['/operator/log', 'Event log'],
  ['/operator/nowhere', 'This page does not exist.'],
];

test(
  'every page and dialog can be read and used by everybody, and complains of nothing',
  async () => {
    const own = await Window.open(browser, at());
    await own.goto('/operator', 'You have no session');
    expect(await own.barriers()).toEqual([]);
    // A link in a tab that shows what came of another one.
    await own.goto('/enter', 'You have no session');
    await own.page.goto(await newLink());
    await own.page.getByRole('heading', { name: 'Overview' }).waitFor();
    await own.page.getByText('they are sent').waitFor();
    expect(await own.walk('operator', PAGES)).toEqual({});
    expect(await own.page.title()).not.toContain('owned');
    expect(own.complaints).toEqual([]);
    await own.close();
  },
  scaled(150_000),
);

test('their pages are on the sheet of all', () => makeSheet(browser, /operator/));

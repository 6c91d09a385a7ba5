/** The operator's day: a link from the command line, a parked tenant, a retry, a proof, the log; each page in each colour and language. */
import { writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import type { Locator } from 'playwright-core';
import { newId } from '#app/commands/clock.js';
import { tableStream } from '#app/domain/streams.js';
import { addWebhook } from '../acceptance/export.js';
import { appendByHand } from '../acceptance/logEvent.js';
import { scaled } from '../engines/timeScale.js';
import { makeSheet, useConsole, type Window } from './browser.js';

let window: Window;
const { acme, browser, open: openAt, service } = useConsole();
const at = () => ({ host: `operator.service.localhost:${service().port}` });
const open = (options = {}) => openAt(options, at());

const newLink = async (): Promise<string> => (await service().cli('console')).stdout.split('\n')[0] ?? '';

beforeAll(async () => {
  await acme().create('dyn_item', { external_id: 'tea', name: 'Tea' });
  await addWebhook(acme(), 'https://example.com/hook', { name: '<img src=x onerror="document.title=\'owned\'">' });
  await service().stop();
  service().changeRows(`CREATE TRIGGER lost BEFORE INSERT ON rows WHEN NEW.key = 'coffee'
    BEGIN SELECT RAISE(ABORT, 'The document is lost.'); END`);
  const fields = { external_id: 'coffee', name: 'Coffee' };
  const items = tableStream('acme', 'dyn_item');
  await appendByHand({ DATA_DIR: service().dataDir }, items, 'RecordCreated', { id: newId(), fields });
  // It ran for two minutes, and then not for the rest of an hour.
  const atMinute = (n: number) => new Date(Date.now() - n * 60_000).toISOString();
  const kept = [50, 49, 48].map((n) => ({ at: atMinute(n), requests_per_second: n }));
  writeFileSync(`${service().dataDir}/history.json`, JSON.stringify(kept));
  await service().start();
  while ((await acme().getList('dyn_item')).status !== 503) await wait(50);
  window = await open();
});
afterEach(() => {
  expect(window.complaints.splice(0)).toEqual([]);
});

test('without a session it says how to get one; the link opens it, once, and leaves the address', async () => {
  const { page } = window;
  await window.goto('/operator', 'You have no session');
  await page.getByText('npx dynamic-assets console').waitFor();
  const link = await newLink();
  await page.goto(link);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  expect(page.url()).toBe(`http://${at().host}/console/operator`);
  const other = await open();
  await other.page.goto(link);
  await other.page.getByText('The link was used before.').waitFor();
  expect(other.complaints.filter((each) => !each.includes('401'))).toEqual([]);
  await other.close();
});

test('finds the parked tenant, sees the event and why it was not applied, and retries it', async () => {
  const { page } = window;
  await page.getByText('The document is lost.').waitFor();
  const requests = page.getByRole('img', { name: /^Requests a second: .* errors [\d.]+; highest 50/ });
  const [, end] = /L([\d.]+)[^L]*(?:M|$)/.exec((await requests.locator('path').nth(1).getAttribute('d')) ?? '') ?? [];
  expect(Number(end)).toBeLessThan(20);
  await page.getByRole('img', { name: 'Age of the last backup: Age of the last backup –; not known yet' }).waitFor();
  const gigabytes = async (of: Locator) => Number(/([\d.]+) GB/.exec(await of.ariaSnapshot())?.[1]);
  const free = await gigabytes(page.getByRole('row', { name: /GB are free/ }));
  expect(Math.abs(free - (await gigabytes(page.getByRole('img', { name: 'Free disk' }))))).toBeLessThan(0.5);
  await window.screenshot('operator-overview');
  await page.getByRole('link', { name: 'acme', exact: true }).click();
  await page.getByText('The document is lost.').waitFor();
  await window.screenshot('operator-tenant-parked');
  await page.getByRole('button', { name: 'Retry' }).click();
  await page.getByText('acme: tried again').waitFor();
  service().changeRows('DROP TRIGGER lost');
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
  const person = await openAt({}, { host: `newcomer.localhost:${service().port}` });
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
  const other = await open();
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
    const own = await open();
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

test('speaks Dutch, also what its service says', async () => {
  expect(await service().cli('webhook', 'hold')).toMatchObject({ code: 0 });
  const own = await open({ locale: 'nl-NL' });
  await own.page.goto(await newLink());
  await own.page.getByText('Stel eerst BACKUP_DIR in.').waitFor();
  const flaws: string[] = [];
  for (const [path] of PAGES) {
    await own.goto(path, /./);
    flaws.push(...(await own.english()));
    await own.screenshot(`nl${path.replaceAll('/', '-')}`);
  }
  expect(flaws).toEqual([]);
  await own.closeWithoutComplaint();
});

test('their pages are on the sheet of all', () => makeSheet(browser(), /operator/));

/** Every page and dialog: no barrier that axe finds, no error of a script, no report of the policy; hostile names are harmless. */
import { readFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { addWebhook } from '../acceptance/export.js';
import { type Service, startService } from '../acceptance/service.js';
import { scaled } from '../engines/timeScale.js';
import { makeSheet, type PageSeen, startBrowser, Window } from './browser.js';
import { addOrders, addUser } from './people.js';

const HOSTILE = [
  '<img src=x onerror="document.title=\'owned\'">',
  'gnp.exe\u202Egpj.order',
  'x'.repeat(255),
  '{{constructor.constructor("alert(1)")()}}',
];

/** The texts of the console that its Dutch has in other words. */
const textsOf = (language: string): readonly string[] =>
  [...readFileSync(`console/src/app/${language}.ts`, 'utf8').matchAll(/'([^'\n]{4,})'/g)].map(([, text = '']) => text);
const ENGLISH = textsOf('en').filter((text) => !textsOf('nl').includes(text));
/** What no Dutch text has, and names in the API have only between their points and lines. */
const ENGLISH_WORD = /(?<![\w.:/-])(?:the|and|with|for|by|created|changed|added|approved|deleted|failed)(?![\w.:/-])/i;

/** A walk through all pages. */
const LONGEST_WALK_MS = scaled(300_000);

let service: Service;
let browser: Browser;
const acme = () => service.tenant('acme');
let pages: readonly PageSeen[];

beforeAll(async () => {
  [service, browser] = await Promise.all([startService({ tenants: { acme: 'dyn_stock_order' } }), startBrowser()]);
  const [order] = await addOrders(acme(), 3);
  let flawed = order;
  await acme().batch(
    'dyn_party',
    HOSTILE.map((name, at) => ({ external_id: `H${at}`, name })),
  );
  for (const [at, name] of HOSTILE.entries()) {
    flawed = await acme().create('dyn_stock_order', {
      customer_reference: name.slice(0, 100),
      buyer_customer_party_id: `H${at}`,
      lines: [{ quantity: 0 }],
    });
  }
  await acme().update('dyn_stock_order', String(flawed?.id), { processing_status: 'validated' });
  const webhook = await addWebhook(acme(), 'https://example.com/hook', { name: HOSTILE[0] });
  const { data } = await acme().list('dyn_party', { sort: '-created_at' });
  const entry = await acme().platformData('GET', '/activity?kind=table.batch&limit=1');
  pages = [
    ['/', 'Home'],
    ['/orders', 'To Validate'],
    ['/refused', 'Refused by the ERP'],
    ['/archive', 'Archive'],
    [`/orders/${order?.id}`, /PO-001/],
    [`/orders/${flawed?.id}`, /constructor/, 'r', 'a'],
    [`/orders/${order?.id}/replay`, 'Everything that happened'],
    ['/tables', 'Tables'],
    ['/tables/dyn_party', 'Parties'],
    [`/tables/dyn_party/records/${data[0]?.id}`, /./],
    ['/tables/dyn_party/operations', /Changes by batch/],
    ['/tables/dyn_party/import', /Import a file/],
    ['/tables/dyn_party/compare', /Compare two moments/],
    ['/webhooks', 'Webhooks'],
    [`/webhooks/${webhook.id}`, /onerror/],
    ['/api-clients', 'API clients'],
    ['/users', 'Users'],
    ['/settings', 'Settings'],
    ['/activity', 'Activity'],
    [`/activity/${Object(entry)[0]?.id}`, /sent a batch/],
    ['/account', 'Your account'],
    ['/nowhere', 'This page does not exist.'],
  ];
});
afterAll(async () => {
  await browser?.close();
  await service?.dispose();
});

test.each(['light', 'dark'] as const)('%s: the sign-in can be used by everybody', async (colorScheme) => {
  const window = await Window.open(browser, acme(), { colorScheme });
  await window.page.goto(`http://${acme().host}/console`);
  await window.page.getByLabel('E-mail address').waitFor();
  expect(await window.barriers()).toEqual([]);
  await window.screenshot(`sign-in-${colorScheme}`);
  await window.close();
});

test.each([
  ['admin', 'admin', /./],
  ['clerk', 'validator', /^\/(?:$|orders$|orders\/[^/]*$|tables$)/],
  ['auditor', 'auditor', /^\/(?:$|orders\/.*replay|.*compare|activity)/],
] as const)(
  '%s: every page and dialog can be read and used by everybody, and complains of nothing',
  async (who, role, isTheirs) => {
    const window = await Window.open(browser, acme());
    await window.signIn(who === 'admin' ? acme().admin : await addUser(acme(), role, who));
    expect(
      await window.walk(
        who,
        pages.filter(([path]) => isTheirs.test(path)),
      ),
    ).toEqual({});
    expect(await window.page.title()).not.toContain('owned');
    await window.closeWithoutComplaint();
  },
  LONGEST_WALK_MS,
);

test('all pages are on one sheet, to be looked at', () => makeSheet(browser), LONGEST_WALK_MS);

test('a session that ended elsewhere is found out by reading and by saving, in each tab', async () => {
  const window = await Window.open(browser, acme());
  const { page } = window;
  await page.goto(`http://${acme().host}/console`);
  await window.signIn(acme().admin);
  await window.goto('/account', 'Your account');
  await page.getByLabel('Present password').fill(acme().admin.password);
  await page.getByLabel('New password').fill('another long password');
  await page.context().clearCookies();
  await page.keyboard.press('Enter');
  await page.getByLabel('E-mail address').waitFor();
  expect(await page.evaluate('document.body.innerText')).not.toMatch(/Bearer|token/i);

  await window.signIn(acme().admin);
  const second = await page.context().newPage();
  await second.goto(`http://${acme().host}/console/tables`);
  await second.getByRole('heading', { level: 1, name: 'Tables' }).waitFor();
  await page
    .getByRole('banner')
    .getByRole('button', { name: /^Admin / })
    .click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await second.getByLabel('E-mail address').waitFor();
  expect(await second.evaluate('document.body.innerText')).not.toMatch(/dyn_|Parties|@/);
  await window.close();
});

test('a person sees where they are signed in, and ends it there', async () => {
  const person = await addUser(acme(), 'validator');
  const phone = await Window.open(browser, acme(), { userAgent: 'Mozilla/5.0 (iPhone) Version/17.4 Safari/604.1' });
  await phone.signIn(person);
  const window = await Window.open(browser, acme());
  const { page } = window;
  await window.signIn(person);
  await page.getByRole('button', { name: 'validator Smit' }).click();
  await page.getByRole('menuitem', { name: 'Your account' }).click();
  await page.getByText('Chrome, Linux').waitFor();
  await page.getByText('This browser').waitFor();
  await page.getByText('Safari, iPhone').waitFor();
  await page.getByRole('main').getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByText('Safari, iPhone').waitFor({ state: 'detached' });
  await phone.page.reload();
  await phone.page.getByLabel('E-mail address').waitFor();

  await phone.signIn(person);
  await page.reload();
  await page.getByRole('button', { name: 'Sign out everywhere else' }).click();
  await window.screenshot('sign-out-everywhere');
  await page.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere else' }).click();
  await page.getByText('Safari, iPhone').waitFor({ state: 'detached' });
  await phone.page.reload();
  await phone.page.getByLabel('E-mail address').waitFor();
  expect(window.complaints).toEqual([]);
  await Promise.all([phone.close(), window.close()]);
});

test(
  'speaks Dutch, and says so',
  async () => {
    const window = await Window.open(browser, acme(), { locale: 'nl-NL' });
    const { page } = window;
    await page.goto(`http://${acme().host}/console`);
    await page.getByRole('heading', { name: 'Inloggen' }).waitFor();
    expect(await page.evaluate('document.documentElement.lang')).toBe('nl');
    await page.getByLabel('E-mailadres').fill(acme().admin.email);
    await page.getByLabel('Wachtwoord').first().fill(acme().admin.password);
    await page.keyboard.press('Enter');
    await page.getByRole('navigation').waitFor();
    const flaws: { [path: string]: readonly string[] } = {};
    for (const [path] of pages) {
      await window.goto(path, /./);
      // This is the name of who made the tenant.
      const seen = String(await page.evaluate('document.body.innerText')).replaceAll(' at the command line', '');
      const english = seen.split('\n').filter((text) => ENGLISH.includes(text.trim()) || ENGLISH_WORD.test(text));
      if (english.length > 0) flaws[path] = english;
    }
    expect(flaws).toEqual({});
    await window.goto(pages.find(([, heading]) => String(heading) === '/constructor/')?.[0] ?? '', /constructor/);
    for (const problem of ['Leverdatum: niets ingevuld.', '1: Aantal: moet meer dan 0 zijn.'])
      await page.getByRole('button', { name: problem }).waitFor();
    await window.screenshot('clerk-problems-nl');
    await window.close();
  },
  LONGEST_WALK_MS,
);

test('the sign-in is there within three seconds at 400 kbit/s', async () => {
  const window = await Window.open(browser, acme());
  const { page } = window;
  const line = await page.context().newCDPSession(page);
  const bytesPerSecond = 400_000 / 8;
  await line.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 100,
    downloadThroughput: bytesPerSecond,
    uploadThroughput: bytesPerSecond,
  });
  const start = performance.now();
  await page.goto(`http://${acme().host}/console`, { waitUntil: 'commit' });
  await page.getByLabel('E-mail address').waitFor();
  expect(performance.now() - start).toBeLessThan(3_000);
  await window.close();
});

test('the first screen takes at most 250 KB of scripts, styles and fonts', async () => {
  const window = await Window.open(browser, acme());
  const { page } = window;
  /** Each file once: the second load has them in its cache. */
  const sizes = new Map<string, number>();
  page.on('response', (response) => {
    if (/\.(?:js|css|woff2)$/.test(response.url())) {
      sizes.set(response.url(), Number(response.headers()['content-length'] ?? 0));
    }
  });
  await page.goto(`http://${acme().host}/console`);
  await page.getByLabel('E-mail address').waitFor();
  await window.signIn(acme().admin);
  await page.getByRole('table').first().waitFor();
  await window.isQuiet();
  expect([...sizes.keys()].filter((url) => url.endsWith('.woff2'))).toHaveLength(1);
  const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  expect(bytes).toBeGreaterThan(50_000);
  expect(bytes).toBeLessThan(250_000);
  await window.close();
});

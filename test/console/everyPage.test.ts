/** Every page and dialog: no barrier that axe finds, no error of a script, no report of the policy; hostile names are harmless. */
import { readdirSync, readFileSync } from 'node:fs';
import { addWebhook, quickDelivery } from '../acceptance/export.js';
import { Receiver } from '../acceptance/receiver.js';
import { scaled } from '../engines/timeScale.js';
import { makeSheet, type PageSeen, rowsOfSheet, TURNING, useConsole } from './browser.js';
import { DIALOGS } from './dialogs.js';
import { addOrders, addUser } from './people.js';

const HOSTILE = [
  '<img src=x onerror="document.title=\'owned\'">',
  'x'.repeat(255),
  '{{constructor.constructor("alert(1)")()}}',
  TURNING,
];

const LONGEST_WALK_MS = scaled(300_000);

const receiver = Receiver.ofTests();
const { acme, open, enter, browser } = useConsole(async () => ({ env: quickDelivery(receiver) }));
let pages: readonly PageSeen[];
/** Titles of the dialogs that axe has looked at on the walks. */
const titles = new Set<string>();

beforeAll(async () => {
  const [order] = await addOrders(acme(), 3);
  let flawed = order;
  const item = await acme().create('dyn_item', { external_id: 'H', name: TURNING });
  await acme().batch(
    'dyn_party',
    HOSTILE.map((name, at) => ({ external_id: `H${at}`, name })),
  );
  for (const [at, name] of HOSTILE.entries()) {
    flawed = await acme().create('dyn_stock_order', {
      customer_reference: name.slice(0, 100),
      buyer_customer_party_id: `H${at}`,
      lines: [{ quantity: 0, item_id: item.id }],
    });
  }
  const [name, city_name, vat_number, notes] = HOSTILE.map((en) => ({ en }));
  const labels = { table: notes, fields: { name, city_name, vat_number, notes } };
  await acme().platformData('PUT', '/asset-types/dyn_party/labels', labels);
  await acme().platformData('PUT', '/asset-types/dyn_stock_order/labels', { fields: { notes } });
  const [me] = (await acme().platformData('GET', '/users')) as readonly { readonly id: number }[];
  const named = { first_name: 'Admin', last_name: TURNING, roles: ['admin', 'validator'] };
  await acme().platformData('PUT', `/users/${me?.id}`, named);
  await acme().platformData('PUT', `/orders/${flawed?.id}`, { notes: TURNING, processing_status: 'saved' });
  await acme().update('dyn_stock_order', String(flawed?.id), { processing_status: 'validated' });
  const webhook = await addWebhook(acme(), receiver.url('/hook'), { name: HOSTILE[0] });
  for (const name of ['A', 'B', 'C', 'D']) await addWebhook(acme(), receiver.url(`/${name}`), { name });
  await acme().platform('POST', `/webhooks/${webhook.id}/test`, { body: { event: 'order.approved' } });
  await receiver.received('/hook', 1);
  const deliveries = await acme().platformData('GET', `/webhooks/${webhook.id}/deliveries`);
  await addUser(acme(), 'validator', 'vera');
  const { data } = await acme().list('dyn_party', { sort: '-created_at' });
  const entry = await acme().platformData('GET', '/activity?kind=table.batch&limit=1');
  pages = [
    ['/', 'Home'],
    ['/orders', 'To Validate'],
    ['/refused', 'Refused by the ERP'],
    ['/archive', 'Archive'],
    [`/orders/${order?.id}`, /PO-001/],
    [`/orders/${flawed?.id}`, /gpj/, 'r', 'a'],
    [`/orders/${flawed?.id}/replay`, /gpj/],
    ['/tables', 'Tables'],
    ['/tables/dyn_party', /gpj/],
    [`/tables/dyn_party/records/${data[0]?.id}`, /./],
    [`/tables/dyn_stock_order/records/${order?.id}`, /PO-001/],
    ['/tables/dyn_party/operations', /Changes by batch/],
    ['/tables/dyn_party/import', /Import a file/],
    ['/tables/dyn_party/compare', /Compare two moments/],
    ['/webhooks', 'Webhooks'],
    [`/webhooks/${webhook.id}`, /onerror/],
    [`/webhooks/${webhook.id}/deliveries/${Object(deliveries)[0]?.id}`, /./],
    ['/api-clients', 'API clients'],
    ['/users', 'Users'],
    ['/settings', 'Settings'],
    ['/activity', 'Activity'],
    [`/activity/${Object(entry)[0]?.id}`, /sent a batch/],
    ['/account', 'Your account'],
    ['/nowhere', 'This page does not exist.'],
  ];
});

test.each(['light', 'dark'] as const)('%s: the sign-in can be used by everybody', async (colorScheme) => {
  const window = await open({ colorScheme });
  for (const path of ['', '/welcome#link']) {
    await window.page.goto(`http://${acme().host}/console${path}`);
    await window.page.getByRole('heading').first().waitFor();
    expect(await window.barriers()).toEqual([]);
    await window.screenshot(`sign-in-${colorScheme}${path.slice(1, 8)}`);
  }
  await window.close();
});

const PERSONAS = [
  ['admin', 'admin', /./],
  ['clerk', 'validator', /^\/(?:$|orders$|orders\/[^/]*$|tables$)/],
  ['auditor', 'auditor', /^\/(?:$|orders\/.*replay|.*compare|activity)/],
] as const;
const pagesOf = (isTheirs: RegExp) => pages.filter(([path]) => isTheirs.test(path));

test.each(PERSONAS)(
  '%s: every page and dialog can be read and used by everybody, and complains of nothing',
  async (who, role, isTheirs) => {
    const window = await enter(who === 'admin' ? acme().admin : await addUser(acme(), role, who));
    if (who === 'auditor') await window.page.clock.setFixedTime(Date.now() + 86_400_000);
    expect(await window.walk(who, pagesOf(isTheirs))).toEqual({});
    expect(rowsOfSheet(who)).toHaveLength(pagesOf(isTheirs).length);
    for (const title of window.dialogs) titles.add(title);
    expect(await window.page.title()).not.toContain('owned');
    await window.closeWithoutComplaint();
  },
  LONGEST_WALK_MS,
);

const DIALOG = /<(?:Confirm|FormDialog|InputsDialog|Modal|Spotlight)\b/g;

test('each page and each dialog of the console was looked at', () => {
  const read = (folder: string, end: string) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).flatMap((file) =>
      file.endsWith(end) ? [[file.slice(0, -end.length), readFileSync(`${folder}/${file}`, 'utf8')] as const] : [],
    );
  const days = read('test/console', '.test.ts').join('');
  const paths = [...pages.map(([path]) => path), ...[...days.matchAll(/'(\/[^'\s]+)'/g)].map(([, path = '']) => path)];
  const routes = [...readFileSync('console/src/routes.tsx', 'utf8').matchAll(/(?<=page\(')[^']+/g)].map(String);
  const isSeen = (route: string) => paths.some((path) => RegExp(`^${route.replace(/\$\w+/g, '[^/]+')}\\b`).test(path));
  expect(routes.filter((route) => !isSeen(route))).toEqual([]);

  const inSource = read('console/src', '.tsx').map(([file, text]) => [file, text.match(DIALOG)?.length ?? 0] as const);
  const listed = Object.entries(DIALOGS).map(([file, names]) => [file, names.length] as const);
  expect(inSource.filter(([, dialogs]) => dialogs > 0).sort()).toEqual(listed.sort());
  const isLookedAt = (name: string) =>
    [...titles].some((title) => title.startsWith(name)) || RegExp(`screenshot\\(.${name}`).test(days);
  const all = Object.values(DIALOGS).flat();
  expect(all.filter((name) => !isLookedAt(name))).toEqual([]);
});

test('all pages are on one sheet at three widths', () => makeSheet(browser(), /admin|clerk|auditor/), LONGEST_WALK_MS);

test('a session that ended elsewhere is found out by reading and by saving, in each tab', async () => {
  const window = await enter(acme().admin);
  const { page } = window;
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
  await page.click('header [aria-haspopup="menu"]');
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await second.getByLabel('E-mail address').waitFor();
  expect(await second.evaluate('document.body.innerText')).not.toMatch(/dyn_|Parties|@/);
  await window.close();
});

test('a person sees where they are signed in, and ends it there', async () => {
  const person = await addUser(acme(), 'validator');
  const phone = await enter(person, { userAgent: 'Mozilla/5.0 (iPhone) Version/17.4 Safari/604.1' });
  const window = await enter(person);
  const { page } = window;
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
    const window = await open({ locale: 'nl-NL' });
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
      const english = await window.english();
      if (english.length > 0) flaws[path] = english;
    }
    expect(flaws).toEqual({});
    await window.goto(pages.find(([, heading]) => String(heading) === '/gpj/')?.[0] ?? '', /gpj/);
    for (const problem of ['Leverdatum: niets ingevuld.', '1: Aantal: moet meer dan 0 zijn.'])
      await page.getByRole('button', { name: problem }).waitFor();
    await window.screenshot('clerk-problems-nl');
    await window.close();
  },
  LONGEST_WALK_MS,
);

test('the sign-in is there within three seconds at 400 kbit/s', async () => {
  const window = await open();
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
  const window = await open();
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
  await page.getByRole('link', { name: 'Other webhooks 2' }).waitFor();
  await window.isQuiet();
  expect([...sizes.keys()].filter((url) => url.endsWith('.woff2'))).toHaveLength(1);
  const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  expect(bytes).toBeGreaterThan(50_000);
  expect(bytes).toBeLessThan(250_000);
  await window.close();
});

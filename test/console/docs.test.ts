/** /docs in Chromium: everybody can read it, and calls can be made from the reference. */
import { useConsole, type Window } from './browser.js';

const { acme, open: openWindow } = useConsole();
const origin = () => `http://${acme().host}`;

beforeAll(async () => {
  await acme().batch('dyn_item', [{ external_id: 'T1', name: 'Tea' }]);
});

async function open(path: string, options: Parameters<typeof openWindow>[0] = {}): Promise<Window> {
  const window = await openWindow(options);
  window.page.on('request', (request) => {
    const { origin: host, protocol } = new URL(request.url());
    if (protocol !== 'data:' && host !== origin()) window.complaints.push(`asks ${host}`);
  });
  await window.page.goto(origin() + path);
  return window;
}

/** Address and heading; short ones, since axe looks at each word of code. */
const PAGES = [
  ['/docs', /Orders in/],
  ['/docs/roles-and-scopes', 'Roles and scopes'],
  ['/docs/reference', /Dynamic Assets API/],
  ['/docs/nowhere', 'There is no such page'],
] as const;

test.each([
  ['light, a laptop', { colorScheme: 'light', viewport: { width: 1280, height: 800 } }],
  ['dark, a phone', { colorScheme: 'dark', viewport: { width: 390, height: 844 } }],
  ['dark, a wide screen', { colorScheme: 'dark', viewport: { width: 2560, height: 1300 } }],
] as const)('%s: every page can be read by everybody, and complains of nothing', async (name, options) => {
  const window = await open('/docs', options);
  const barriers: { [path: string]: readonly string[] } = {};
  for (const [path, heading] of PAGES) {
    await window.page.goto(origin() + path);
    await window.page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await window.page.waitForLoadState('networkidle');
    // The width changes no rule that the phone and the laptop have not shown.
    const found =
      options.viewport.width > 2000
        ? []
        : await window.barriers(...(path === '/docs/reference' ? ['#bar', '#pages', '#caller'] : []));
    if (found.length > 0) barriers[path] = found;
    const wider = Number(await window.page.evaluate('document.documentElement.scrollWidth - window.innerWidth'));
    if (wider > 0) barriers[`${path} is wider than the window`] = [`${wider} pixels`];
    await window.screenshot(`${name.split(',').join('')}${path.replaceAll('/', '-')}`);
  }
  expect(barriers).toEqual({});
  const said = window.complaints.filter((complaint) => !/status of 404 .*\/docs\/nowhere$/.test(complaint));
  expect(said).toEqual([]);
  await window.close();
});

test('a guide is searched, and keeps the language of its reader from page to page', async () => {
  const window = await open('/docs/getting-started');
  const { page, complaints } = window;
  await page.locator('.tabs').getByText('Python').first().click();
  await page.getByText('# assets.py').waitFor();
  await page.keyboard.press('Control+k');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('searchbox').fill('clean up');
  const found = dialog.getByRole('link', { name: /Synchronise a table/ });
  await found.first().click();
  await page.getByRole('heading', { level: 1, name: 'Synchronise a table' }).waitFor();
  await page.getByText('from assets import').first().waitFor();
  expect(complaints).toEqual([]);
  await window.close();
});

test('the reference says that a secret is wrong, then makes calls as an API client and as a person', async () => {
  const window = await open('/docs/reference');
  const { page, complaints } = window;
  const { client_id, client_secret } = acme().client;
  await page.getByRole('button', { name: 'Sign in' }).click();
  expect(await window.barriers('#access')).toEqual([]);
  await page.getByLabel('Client id').fill(client_id);
  await page.getByLabel('Client secret').fill('wrong');
  await page.getByRole('button', { name: 'Use this client' }).click();
  await page.getByRole('alert').getByText('The client is unknown or its secret is wrong. (401)').waitFor();
  await page.getByLabel('Client secret').fill(client_secret);
  await page.getByRole('button', { name: 'Use this client' }).click();
  await page.getByText(`Calls are made as the client ${client_id}.`).waitFor();
  const { email, password } = acme().admin;
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.locator('#person').getByRole('button').click();
  await page.getByText(/ and .*\(admin.*\)\./).waitFor();
  for (const [operation, answer] of [
    ['Records, page by page', '"Tea"'],
    ['Users', `"${email}"`],
  ] as const) {
    await page.getByRole('searchbox', { name: 'Find an operation' }).fill(operation);
    // People have it as well.
    await page.getByRole('link', { name: operation, exact: true }).first().click();
    const shown = page.locator('.opblock.is-open').filter({ hasText: operation });
    if (operation.startsWith('Records')) await shown.locator('select').first().selectOption('dyn_item');
    await shown.getByRole('button', { name: 'Execute' }).click();
    await shown.locator('.live-responses-table').getByText(answer).first().waitFor();
    await window.screenshot(`reference-${operation.split(/\W/)[0]}`);
  }
  expect(complaints.filter((complaint) => !/status of 401 .*\/oauth\/token$/.test(complaint))).toEqual([]);
  await window.close();
});

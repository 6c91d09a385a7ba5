/** What a person waits in the console of a tenant with a large table: pages in Chromium, from the click to the painted rows. */
import { chromium } from 'playwright-core';
import { note, p99 } from './figures.js';
import { place } from './places.js';
import { PLATFORM, signIn, startService } from './service.js';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const BATCH = 1_000;
/** Rows of the file that is imported. */
const IMPORTED = 100_000;
const MOST_MS = 150;
/** Of rows that are looked for. */
const MOST_FOUND_MS = 300;
const SEARCHES = 60;
const LOADING_MS = 600_000;

/** In the page: clicks, and waits until other rows are painted. @returns milliseconds */
const clicked = (button) => {
  const body = document.querySelector('main tbody');
  const before = body.textContent;
  return new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      const now = document.querySelector('main tbody')?.textContent ?? '';
      if (now === before || now === '') return;
      observer.disconnect();
      // The second frame begins when the first is painted.
      requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - start)));
    });
    observer.observe(document.querySelector('main'), { childList: true, subtree: true, characterData: true });
    const start = performance.now();
    button.click();
  });
};

export async function measureConsole(directory, records) {
  const service = await startService(directory, { EVENTSTORE_URL: '', MONGODB_URL: '', RABBITMQ_URL: '' });
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    const first = performance.now();
    for (let from = 0; from < records; from += BATCH) {
      const items = Array.from({ length: Math.min(BATCH, records - from) }, (_, n) => place(from + n));
      await service.client.ok('POST', '/api/v1/dynamic-assets/dyn/dyn_location/assets/batch', { items });
    }
    note(`${records} records by batches`, `${Math.round(records / ((performance.now() - first) / 1_000))} a second`);
    const page = await signedIn(browser, service);
    await measurePages(page, service);
    await measureSearches(page, service, records);
    await measureImport(page, service, Math.min(IMPORTED, records));
  } finally {
    await browser.close();
    await service.stop();
  }
}

const origin = ({ tenant, port }) => `http://${tenant}.localhost:${port}`;

async function signedIn(browser, service) {
  const person = { email: 'bench@example.com', password: 'a long enough password' };
  const admin = await signIn(service);
  const name = { first_name: 'Bench', last_name: 'Mark', roles: ['admin'] };
  await admin.ok('POST', `${PLATFORM}/users`, { ...person, ...name });
  admin.close();
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, locale: 'en-GB' });
  page.setDefaultTimeout(LOADING_MS);
  await page.goto(`${origin(service)}/console/`);
  await page.getByLabel('E-mail address').fill(person.email);
  await page.getByLabel('Password').first().fill(person.password);
  await page.keyboard.press('Enter');
  await page.getByRole('navigation').waitFor();
  return page;
}

async function openTable(page, service) {
  await page.goto(`${origin(service)}/console/tables/dyn_location`);
  await page.getByRole('row').nth(20).waitFor();
}

async function measurePages(page, service) {
  await openTable(page, service);
  const times = async (count, button) => {
    const all = [];
    for (let n = 0; n < count; n += 1) all.push(await button(n).evaluate(clicked));
    return all;
  };
  const go = (label) => () => page.getByRole('button', { name: label, exact: true }).first();
  await times(10, go('Next'));
  p99('the next page', await times(100, go('Next')), MOST_MS);
  const sorts = ['Name', 'City name', 'Postal zone', 'Country'];
  const header = (n) =>
    page
      .getByRole('columnheader', { name: new RegExp(`^${sorts[n % sorts.length]}`) })
      .getByRole('button')
      .first();
  await times(sorts.length, header);
  p99('another sort', await times(40, header), MOST_MS);
  await times(1, () => page.getByRole('button', { name: /^Page (\S+) of \1$/ }));
  await times(5, go('Previous'));
  p99('pages near the end of a sorted list', await times(60, go('Previous')), MOST_MS);
}

/** Each time another value, so that the rows that are painted are others too; the first ones are not counted. */
async function measureSearches(page, service, records) {
  const places = Array.from({ length: Math.min(records, 5_000) }, (_, n) => place(n));
  const valuesOf = (read) =>
    [...new Set(places.map(read))].filter((value) => value.trim().length > 1).slice(0, SEARCHES + 5);
  const find = async (value) => {
    await page.getByRole('textbox', { name: 'Search', exact: true }).fill(value);
    return page.getByRole('button', { name: 'Search', exact: true }).evaluate(clicked);
  };
  const measure = async (name, values) => {
    const times = [];
    for (const value of values) times.push(await find(value));
    p99(name, times.slice(5), MOST_FOUND_MS);
  };
  const choose = async (select, option) => {
    await page.getByRole('combobox', { name: select, exact: true }).click();
    await page.getByRole('option', { name: option }).click();
  };
  await openTable(page, service);
  await measure(
    'a search by three characters',
    valuesOf(({ name }) => name.slice(0, 3).toLowerCase()),
  );
  await openTable(page, service);
  await choose('Filter', /^Country/);
  await choose('contains', '=');
  await measure(
    'a filter by a field',
    valuesOf(({ country }) => country),
  );
}

/** A file of which a tenth is changed: how long it takes, and how long the page stood still at most. */
async function measureImport(page, service, rows) {
  const line = (n) => {
    const { external_id, name, city_name, country } = place(n);
    return [external_id, n % 10 === 0 ? `${name} (changed)` : name, city_name, country]
      .map((cell) => `"${cell}"`)
      .join(',');
  };
  const lines = ['external_id,name,city_name,country', ...Array.from({ length: rows }, (_, n) => line(n))];
  await page.goto(`${origin(service)}/console/tables/dyn_location/import`);
  const buffer = Buffer.from(lines.join('\r\n'));
  await page.locator('input[type=file]').setInputFiles({ name: 'places.csv', mimeType: 'text/csv', buffer });
  await page.evaluate(() => {
    window.longest = 0;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration);
    }).observe({ entryTypes: ['longtask'] });
  });
  const start = performance.now();
  await page.getByRole('button', { name: 'Check the file' }).click();
  await page.getByText(/ 0 refused$/).waitFor();
  const checked = performance.now();
  await page.getByRole('button', { name: /^Import / }).click();
  await page.getByText('The import is complete.').waitFor();
  const longest = await page.evaluate(() => window.longest);
  note(`a file of ${rows} rows: check`, `${((checked - start) / 1_000).toFixed(1)} s`);
  note(`a file of ${rows} rows: import`, `${((performance.now() - checked) / 1_000).toFixed(1)} s`);
  note('the page stood still meanwhile, at most', `${Math.round(longest)} ms`);
}

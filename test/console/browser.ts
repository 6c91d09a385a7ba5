/** Chromium with the console, as a person has it: what the page complains of fails the test. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { type Service, startService } from '../acceptance/service.js';
import type { TenantClient } from '../acceptance/tenant.js';
import { scaled } from '../engines/timeScale.js';
import { DIALOGS } from './dialogs.js';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
/** Screenshots of a run stay here, to be looked at; those that guides show are put in their place with PICTURES=docs/pictures. */
const SCREENSHOTS = join(process.cwd(), 'screenshots');
const PAGES = join(SCREENSHOTS, 'pages');
const { PICTURES = '' } = process.env;
/** How each page is looked at. In the first it is opened, and its dialogs too; axe looks at the first and the last. */
const VIEWS = [
  { colorScheme: 'light', width: 1440 },
  { colorScheme: 'light', width: 2560 },
  { colorScheme: 'light', width: 390 },
  { colorScheme: 'dark', width: 390 },
] as const;

const STANDS = '!document.getAnimations().some((each) => each instanceof CSSTransition)';
const NAMES_OF_DIALOGS = `[...document.querySelectorAll('[role="dialog"]')].map((each) =>
  each.ariaLabel ?? document.getElementById(each.getAttribute('aria-labelledby'))?.textContent ?? '')`;
/** A name that turns the direction of what follows in its element. */
export const TURNING = 'gnp.exe\u202Egpj.order';
const TURNED_TEXTS = `[...document.querySelectorAll('body *')].flatMap((each) => {
  if (![each.value, ...[...each.childNodes].map(({ data }) => data)].some((text) => text?.includes?.('\u202E'))) return [];
  const holder = each.closest('bdi') ?? each.closest('div, p, h1, h2, li, td, textarea, button, label, summary');
  const behind = (each.value || holder.textContent).split('gpj.order').at(-1);
  return /^(?!\u2069).*\\p{L}[\\p{L}\\d]/su.test(behind) ? ['turned: ' + behind.slice(0, 80)] : [];
})`;
/** On a laptop, tables and all but the longest texts are there as a whole. */
const CUT_TEXTS = `[...document.querySelectorAll('header *, nav *, main *')].flatMap((each) => {
  const text = String(each.value || each.innerText || '').trim();
  const mayScroll = each.matches('pre') || getComputedStyle(each).overflowX === 'visible' || each.clientWidth <= 1;
  const isWhole = text.length > 40 && !each.matches('.mantine-ScrollArea-viewport');
  return mayScroll || isWhole || each.scrollWidth <= each.clientWidth + 1 ? [] : ['cut: ' + text.slice(0, 80)];
})`;

/** What is beside a page on a wide screen. */
const UNUSED = `innerWidth - document.querySelector('main > *').getBoundingClientRect().right`;

/** The texts of the console that its Dutch has in other words. */
const textsOf = (language: string): readonly string[] =>
  [...readFileSync(`console/src/app/${language}.ts`, 'utf8').matchAll(/'([^'\n]{4,})'/g)].map(([, text = '']) => text);
const ENGLISH = textsOf('en').filter((text) => !textsOf('nl').includes(text));
/** What no Dutch text has, and names in the API have only between their points and lines. */
const ENGLISH_WORD = /(?<![\w.:/-])(?:the|and|with|for|by|created|changed|added|approved|deleted|failed)(?![\w.:/-])/i;

/** It talks to nobody but the service. */
const ALONE = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

type Options = Parameters<Browser['newContext']>[0];
type Host = Pick<TenantClient, 'host'>;

/** For all tests of a file: a service with the tenant acme, a browser, and what opens windows on them. */
export function useConsole(begin: () => Promise<object> = async () => ({})) {
  let service: Service;
  let browser: Browser;
  beforeAll(async () => {
    const more = await begin();
    const tenants = { acme: 'dyn_stock_order', hauler: 'dyn_transport_order' } as const;
    const launched = chromium.launch({ executablePath: CHROMIUM, args: ALONE });
    [service, browser] = await Promise.all([startService({ tenants, ...more }), launched]);
  });
  afterAll(async () => {
    await browser?.close();
    await service?.dispose();
  });
  const acme = () => service.tenant('acme');
  const open = (options?: Options, at: Host = acme()) => Window.open(browser, at, options);
  const enter = async (person: Person, options?: Options, tenant?: Host): Promise<Window> => {
    const window = await open(options, tenant);
    await window.signIn(person);
    return window;
  };
  return { acme, open, enter, service: () => service, browser: () => browser };
}

/** A page by its address and its heading, and the keys that open its dialogs beside those of its buttons. */
export type PageSeen = readonly [path: string, heading: string | RegExp, ...keys: string[]];

export type Person = { readonly email: string; readonly password: string };

/** One person's window. */
export class Window {
  readonly #context: BrowserContext;
  readonly page: Page;
  readonly #base: string;
  /** Errors of scripts and of the console, reports of the content security policy among them. */
  readonly complaints: string[] = [];
  /** Names of the dialogs that axe has looked at. */
  readonly dialogs = new Set<string>();

  private constructor(context: BrowserContext, page: Page, base: string) {
    this.#context = context;
    this.page = page;
    this.#base = base;
    page.setDefaultTimeout(scaled(15_000));
    page.on('pageerror', (error) => this.complaints.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') this.complaints.push(`${message.text()} ${message.location().url}`);
    });
  }

  static async open(browser: Browser, { host }: Host, options: Options = {}): Promise<Window> {
    const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'Europe/Amsterdam', ...options });
    return new Window(context, await context.newPage(), `http://${host}/console`);
  }

  async signIn({ email, password }: Person): Promise<void> {
    await this.page.goto(this.#base);
    await this.page.getByLabel('E-mail address').fill(email);
    await this.page.getByLabel('Password').first().fill(password);
    await this.page.keyboard.press('Enter');
    await this.page.getByRole('navigation').waitFor();
  }

  /** @param heading that the page has when it is there */
  async goto(path: string, heading: string | RegExp): Promise<void> {
    await this.page.goto(this.#base + path);
    await this.page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await this.isQuiet();
  }

  /** What the field offers, at once or for what is typed. */
  async choose(field: string, option: string | RegExp, typed?: string): Promise<void> {
    const box = this.page.getByRole('combobox', { name: field });
    await (typed === undefined ? box.click() : box.fill(typed));
    await this.page.getByRole('option', { name: option }).click();
  }

  /** Nothing is loading any more. */
  async isQuiet(): Promise<void> {
    await this.page.waitForLoadState('networkidle');
    await this.page.getByRole('status', { name: 'Loading…' }).first().waitFor({ state: 'detached' });
  }

  /** Lines of the page that are not Dutch. */
  async english(): Promise<readonly string[]> {
    // This is the name of who made the tenant.
    const seen = String(await this.page.evaluate('document.body.innerText')).replaceAll(' at the command line', '');
    return seen.split('\n').filter((text) => ENGLISH.includes(text.trim()) || ENGLISH_WORD.test(text));
  }

  /** A picture of what is seen. What axe finds in a dialog that is open is a complaint. */
  async screenshot(name: string): Promise<void> {
    mkdirSync(SCREENSHOTS, { recursive: true });
    if (Object.values(DIALOGS).some((all) => all.some((each) => name.startsWith(each))))
      await this.page.getByRole('dialog').first().waitFor();
    const picture = join(PICTURES, `${name}.png`);
    await this.page.screenshot({ path: existsSync(picture) ? picture : join(SCREENSHOTS, `${name}.png`) });
    if ((await this.page.getByRole('dialog').count()) > 0) this.complaints.push(...(await this.barriersOfDialog()));
  }

  /** Texts that turn, and what axe finds in the dialog that is open, in dark and in light. Its heading is no landmark of the page. */
  async barriersOfDialog(): Promise<readonly string[]> {
    const found = await this.page.evaluate<string[]>(TURNED_TEXTS);
    for (const colorScheme of ['dark', 'light'] as const) {
      await this.#turn({ colorScheme });
      found.push(...(await this.barriers('[role="dialog"]')).map((each) => `${colorScheme} ${each}`));
    }
    for (const name of await this.page.evaluate<string[]>(NAMES_OF_DIALOGS)) this.dialogs.add(name);
    return found.filter((each) => !/^\w+ landmark-/.test(each));
  }

  /** Ends when the page has heard of the new colours, and the menu has moved away. */
  async #turn(media: Parameters<Page['emulateMedia']>[0] & { readonly colorScheme: string }): Promise<void> {
    await this.page.emulateMedia(media);
    const isNew = `document.documentElement.dataset.mantineColorScheme === '${media.colorScheme}'`;
    await until(() => this.page.evaluate<boolean>(`${isNew} && ${STANDS}`), Boolean);
  }

  /**
   * What axe finds against WCAG 2.2 AA and its own good practice.
   * @param parts selectors of the parts that are ours; the whole page by default
   */
  async barriers(...parts: readonly string[]): Promise<readonly string[]> {
    // Half way through a change of colours nothing can be read.
    await until(() => this.page.evaluate<boolean>(STANDS), Boolean);
    const context = parts.length > 0 ? JSON.stringify({ include: parts }) : 'document';
    // The texts about what is right would take most of the time.
    const run = `axe.run(${context}, { resultTypes: ['violations'] })`;
    const { violations } = await this.page.evaluate<axe.AxeResults>(`${axe.source}; ${run}`);
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join('; ')}`);
  }

  /**
   * Opens each page and looks at it in all ways; pictures go on the contact sheet.
   * @returns by page, what axe finds in it and in its dialogs, what scrolls sideways, and which texts are cut or turned
   */
  async walk(who: string, pages: readonly PageSeen[]) {
    const barriers: { [place: string]: readonly string[] } = {};
    const add = (place: string, found: readonly string[]) => {
      if (found.length > 0) barriers[place] = found;
    };
    mkdirSync(PAGES, { recursive: true });
    for (const row of rowsOfSheet(who)) rmSync(join(PAGES, row), { recursive: true });
    // The page itself does not scroll sideways: wide tables do.
    const pixelsWider = () => this.page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
    for (const [at, [path, heading, ...keys]] of pages.entries()) {
      const name = path
        .replace(/[0-9a-f-]{36}/g, 'id')
        .replace(/\W+/g, ' ')
        .trim();
      for (const [view, { colorScheme, width }] of VIEWS.entries()) {
        await this.page.setViewportSize({ width, height: 900 });
        if (view === 0) await this.goto(path, heading);
        await this.#turn({ colorScheme, reducedMotion: 'reduce' });
        const wider = await until(pixelsWider, (pixels) => pixels <= 0);
        const found = view === 0 || view === VIEWS.length - 1 ? [...(await this.barriers())] : [];
        const place = `${path}, ${colorScheme}, ${width}`;
        if (wider > 0) found.push(`${wider} pixels wider than the window`);
        const unused = await this.page.evaluate<number>(UNUSED);
        if (unused > 100) found.push(`${unused} pixels are empty`);
        const looks = view === 0 ? [CUT_TEXTS, TURNED_TEXTS] : [];
        for (const look of looks) found.push(...(await this.page.evaluate<string[]>(look)));
        add(place, found);
        await this.screenshot(`pages/${who} ${String(at + 1).padStart(2, '0')} ${name}/${view}`);
        if (view > 0) continue;
        for (const [label, barriersOfIt] of await this.dialogBarriers(at === 0 ? ['?', 'Control+k'] : keys))
          add(`${place}: ${label}`, barriersOfIt);
      }
    }
    return barriers;
  }

  /** What axe finds in each dialog that a button of the page opens, or a key on each page. */
  async dialogBarriers(keys: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const found = new Map<string, readonly string[]>();
    const look = async (label: string) => {
      await this.page.getByRole('dialog').waitFor();
      await this.isQuiet();
      found.set(label, await this.barriersOfDialog());
      await this.press('Escape');
      await this.page.getByRole('dialog').waitFor({ state: 'detached' });
    };
    for (const key of keys) {
      await this.press(key);
      await look(key);
    }
    const buttons = this.page.locator('[aria-haspopup="dialog"]:visible:enabled');
    for (const [at, label] of (await buttons.allInnerTexts()).entries()) {
      // Each row has the same ones.
      if (found.has(label)) continue;
      await buttons.nth(at).click();
      await look(label);
    }
    return found;
  }

  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) await this.page.keyboard.press(key);
  }

  async closeWithoutComplaint(): Promise<void> {
    expect(this.complaints).toEqual([]);
    await this.close();
  }

  async close(): Promise<void> {
    await this.#context.close();
  }
}

/** @returns what is read, once it is as it should be */
export async function until<T>(read: () => Promise<T>, isReady: (value: T) => boolean): Promise<T> {
  const deadline = Date.now() + scaled(15_000);
  for (;;) {
    const value = await read();
    if (isReady(value) || Date.now() > deadline) return value;
    await wait(50);
  }
}

/** Of the pages that have pictures. @param who of one person; of all by default */
export const rowsOfSheet = (who = ''): readonly string[] => readdirSync(PAGES).filter((row) => row.startsWith(who));

/** Puts the pictures of all walks on one sheet, `screenshots/sheet.html` and `.png`. @param own walks that have ended */
export async function makeSheet(browser: Browser, own: RegExp): Promise<void> {
  const rows = rowsOfSheet();
  const imageOf = (row: string, view: number) => `<img src="pages/${encodeURI(row)}/${view}.png">`;
  const shown = rows.map((row) => `<h2>${row}</h2><div>${VIEWS.map((_, view) => imageOf(row, view)).join('')}</div>`);
  const style = 'body{font:14px sans-serif}div{display:flex;gap:8px}img{height:300px;border:1px solid}';
  const file = join(SCREENSHOTS, 'sheet.html');
  writeFileSync(file, `<!doctype html><meta charset="utf-8"><style>${style}</style>${shown.join('')}`);
  const page = await browser.newPage({ viewport: { width: 1700, height: 900 } });
  await page.goto(pathToFileURL(file).href);
  const widths = await page.evaluate<number[]>('[...document.images].map(({ naturalWidth }) => naturalWidth)');
  const isWhole = (at: number) => VIEWS.every(({ width }, view) => widths[at * VIEWS.length + view] === width);
  expect(rows.filter((row, at) => own.test(row) && !isWhole(at))).toEqual([]);
  await page.screenshot({ path: join(SCREENSHOTS, 'sheet.png'), fullPage: true });
  await page.close();
}

/** Chromium with the console, as a person has it: what the page complains of fails the test. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import type { TenantClient } from '../acceptance/tenant.js';
import { scaled } from '../engines/timeScale.js';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
/** Screenshots of a run stay here, to be looked at; those that guides show are put in their place with PICTURES=docs/pictures. */
const SCREENSHOTS = join(process.cwd(), 'screenshots');
const { PICTURES = '' } = process.env;
/** How each page is looked at. In the first it is opened, and its dialogs too; axe looks at the first and the last. */
const VIEWS = [
  { colorScheme: 'light', width: 1440 },
  { colorScheme: 'light', width: 2560 },
  { colorScheme: 'light', width: 390 },
  { colorScheme: 'dark', width: 390 },
] as const;

const TRANSITIONS = 'document.getAnimations().some((each) => each instanceof CSSTransition)';

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

export const startBrowser = (): Promise<Browser> => chromium.launch({ executablePath: CHROMIUM, args: ALONE });

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

  static async open(
    browser: Browser,
    { host }: Pick<TenantClient, 'host'>,
    options: Parameters<Browser['newContext']>[0] = {},
  ): Promise<Window> {
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

  /** Nothing is loading any more. */
  async isQuiet(): Promise<void> {
    await this.page.waitForLoadState('networkidle');
    await this.page.getByRole('status', { name: 'Loading…' }).first().waitFor({ state: 'detached' });
  }

  /** A picture of what is seen. What axe finds in a dialog that is open is a complaint. */
  async screenshot(name: string): Promise<void> {
    mkdirSync(SCREENSHOTS, { recursive: true });
    const picture = join(PICTURES, `${name}.png`);
    await this.page.screenshot({ path: existsSync(picture) ? picture : join(SCREENSHOTS, `${name}.png`) });
    if ((await this.page.getByRole('dialog').count()) > 0) this.complaints.push(...(await this.barriersOfDialog()));
  }

  /** The heading of a dialog is no landmark of the page. */
  async barriersOfDialog(): Promise<readonly string[]> {
    const found = await this.barriers('[role="dialog"]');
    return found.filter((each) => !each.startsWith('landmark-'));
  }

  /**
   * What axe finds against WCAG 2.2 AA and its own good practice.
   * @param parts selectors of the parts that are ours; the whole page by default
   */
  async barriers(...parts: readonly string[]): Promise<readonly string[]> {
    // Half way through a change of colours nothing can be read.
    await until(
      () => this.page.evaluate<boolean>(TRANSITIONS),
      (some) => !some,
    );
    const axe = new AxeBuilder({ page: this.page });
    for (const part of parts) axe.include(part);
    const { violations } = await axe.analyze();
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join('; ')}`);
  }

  /**
   * Opens each page and looks at it in all ways; pictures go on the contact sheet.
   * @returns by page, what axe finds in it and in its dialogs, and what makes it scroll sideways; only what has something
   */
  async walk(who: string, pages: readonly PageSeen[]) {
    const barriers: { [place: string]: readonly string[] } = {};
    const add = (place: string, found: readonly string[]) => {
      if (found.length > 0) barriers[place] = found;
    };
    // The menu moves away; colours change when the page has heard of the new scheme.
    const changesStill = (scheme: string) => () =>
      this.page.evaluate<boolean>(
        `document.documentElement.dataset.mantineColorScheme !== '${scheme}' || ${TRANSITIONS}`,
      );
    // The page itself does not scroll sideways: wide tables do.
    const pixelsWider = () => this.page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
    for (const [at, [path, heading, ...keys]] of pages.entries()) {
      const name = path
        .replace(/[0-9a-f-]{36}/g, 'id')
        .replace(/\W+/g, ' ')
        .trim();
      for (const [view, { colorScheme, width }] of VIEWS.entries()) {
        await this.page.setViewportSize({ width, height: 900 });
        await this.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        if (view === 0) await this.goto(path, heading);
        await until(changesStill(colorScheme), (changes) => !changes);
        const wider = await until(pixelsWider, (pixels) => pixels <= 0);
        const found = view === 0 || view === VIEWS.length - 1 ? await this.barriers() : [];
        const place = `${path}, ${colorScheme}, ${width}`;
        add(place, wider > 0 ? [...found, `${wider} pixels wider than the window`] : found);
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

/** Puts the pictures of all walks on one sheet, a row for each page: `screenshots/sheet.html` and `.png`. */
export async function makeSheet(browser: Browser): Promise<void> {
  const rows = readdirSync(join(SCREENSHOTS, 'pages')).map((row) => {
    const pictures = VIEWS.map((_, view) => `<img src="pages/${encodeURI(row)}/${view}.png">`);
    return `<h2>${row}</h2><div>${pictures.join('')}</div>`;
  });
  const style = 'body{font:14px sans-serif}div{display:flex;gap:8px}img{height:300px;border:1px solid}';
  const file = join(SCREENSHOTS, 'sheet.html');
  writeFileSync(file, `<!doctype html><meta charset="utf-8"><style>${style}</style>${rows.join('')}`);
  const page = await browser.newPage({ viewport: { width: 1700, height: 900 } });
  await page.goto(pathToFileURL(file).href);
  await page.screenshot({ path: join(SCREENSHOTS, 'sheet.png'), fullPage: true });
  await page.close();
}

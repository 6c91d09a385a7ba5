/** Chromium with the console, as a person has it: what the page complains of fails the test. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import type { TenantClient } from '../acceptance/tenant.js';
import { scaled } from '../engines/timeScale.js';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
/** Screenshots of a run stay here, to be looked at. */
const SCREENSHOTS = join(process.cwd(), 'screenshots');

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

  async screenshot(name: string): Promise<void> {
    mkdirSync(SCREENSHOTS, { recursive: true });
    await this.page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });
  }

  /**
   * What axe finds against WCAG 2.2 AA and its own good practice.
   * @param parts selectors of the parts that are ours; the whole page by default
   */
  async barriers(...parts: readonly string[]): Promise<readonly string[]> {
    const axe = new AxeBuilder({ page: this.page });
    for (const part of parts) axe.include(part);
    const { violations } = await axe.analyze();
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join('; ')}`);
  }

  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) await this.page.keyboard.press(key);
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

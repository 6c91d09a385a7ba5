/**
 * The papers do what they say, as printed: each in order, beside one service with the demo tenant, once in each of its languages.
 * Blocks of `sh` are pasted into one shell a page; those of Node and of Python make one program each. Blocks that name a
 * file are saved under that name.
 */
import { execFile, spawnSync } from 'node:child_process';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../engines/freePort.js';
import { REPOSITORY, type RunningCli, Workplace } from './cli.js';
import { linkCommand, Shell, shownByGit } from './shell.js';

const execute = promisify(execFile);

// A page of commands takes a minute where other tests run beside it.
jest.setTimeout(180_000 * Number(process.env.TEST_TIME_SCALE ?? 1));

type Block = { readonly language: string; readonly about: string; readonly text: string };

/** The receiver that a guide has on this machine; another one stands for it. */
const RECEIVER_PORT = /\b4443\b/g;

async function blocksOf(file: string, port: string | number, receiverPort = 0): Promise<readonly Block[]> {
  const page = await readFile(join(REPOSITORY, `${file}.md`), 'utf8');
  return [...page.matchAll(/^```(\w+)([^\n]*)\n(.*?)^```$/gms)].map(([, language = '', about = '', text = '']) => ({
    language,
    about,
    text: text.replaceAll('localhost:3000', `localhost:${port}`).replaceAll(RECEIVER_PORT, String(receiverPort)),
  }));
}

const PROGRAMS = [
  { language: 'js', command: process.execPath, ending: 'mjs' },
  { language: 'python', command: 'python3', ending: 'py' },
] as const;

type Language = (typeof PROGRAMS)[number];
type Where = { readonly cwd: string; readonly env: NodeJS.ProcessEnv };

/** Runs what the blocks have in one language as one program. @returns what it prints */
async function printedBy(blocks: readonly Block[], { language, command, ending }: Language, where: Where) {
  const program = join(where.cwd, `guide.${ending}`);
  const steps = blocks.filter((block) => block.language === language && !block.about.includes('file='));
  await writeFile(program, steps.map(({ text }) => text).join('\n'));
  const { stdout, stderr } = await execute(command, [program], where);
  await rm(program);
  expect(stderr).toBe('');
  return stdout;
}

/** Saves the blocks that name a file. */
async function saveFiles(blocks: readonly Block[], directory: string): Promise<void> {
  for (const { about, text } of blocks) {
    const [, file] = / file=(\S+)/.exec(about) ?? [];
    if (file !== undefined) await writeFile(join(directory, file), text);
  }
}

/** `isElsewhere`: nothing answers at the address in the guide, and SERVICE names another one. */
type Printed = {
  readonly page: string;
  readonly curl: RegExp;
  readonly programs?: RegExp;
  readonly isElsewhere?: true;
};

/** What each language prints on the page, in the order in which a reader takes them. */
const PRINTED: readonly Printed[] = [
  {
    page: 'docs/guides/getting-started',
    curl: /"name":"dyn_item".*"total":4.*"name":"Cocoa 1 kg"/s,
    programs: /'dyn_item'.*4 items:.*'Ground coffee 250 g'.*Cocoa \d kg Cacaofabriek\n$/s,
  },
  {
    page: 'docs/guides/read-and-follow-a-table',
    curl: /"ITEM-003".*"total":5\}\}2\d\n.*PCE BX CS KGM PX.*'Keg'.*Keg\n.*Barrel/s,
    programs:
      /^ITEM-003 ITEM-004 ITEM-008 ITEM-009 ITEM-010\n2\d changed today\nPCE BX CS KGM PX.*\n(Crate|Tub)\n(Crate is now Box|Tub is now Vat)\n$/,
  },
  {
    page: 'docs/guides/synchronise-a-table',
    curl: /2 items succeeded.*4 would be deleted.*Undo: 4 records restored.*"carried":2.*Sync committed: 5 records/s,
    // The commit of the first guide has left one customer that this program does not send.
    programs:
      /2 items succeeded.*1 would be deleted: .*'CUST-901'.*1 records were deleted.*Undo: 1 records.* 2 were sent.*Sync committed: 1 records.*\n$/s,
  },
  {
    page: 'docs/guides/orders-and-lines',
    curl: /order \S{36}\n.*"processing_status":"completed".*"OrderStatusChanged"/s,
    programs: /^pending_validation\ncompleted\n\d+ entries\n$/,
  },
  { page: 'docs/guides/receive-a-webhook', curl: /PO 4713, lines: 1\n/ },
  {
    page: 'docs/guides/roles-and-scopes',
    curl: /\n2\d\n.*lacks the scope write:reference_data.*403\n/s,
  },
  {
    page: 'docs/guides/audit',
    curl: /table\.batch by .*: 1 \+ 1\n.*"change":"changed".*"name":"Espresso".*"change":"created".*"name":"Mocha".*table\.batch by .*: name.*OrderCreatedWithParts pending_validation,OrderStatusChanged completed\n.*occurred_at,kind,actor_kind\n\d{4}-.*,order\.status_changed,client\n/s,
  },
  {
    page: 'docs/guides/errors-and-retries',
    curl: /items\.0\.name.*items\.1\.net_weight.*422\n.*\n(\S{36})\n\1\n.*"notes":"Ring twice"/s,
    programs: /422 .*items\.0\.name.*one order: [tT]rue\n412 Precondition failed\.\n$/s,
    isElsewhere: true,
  },
  { page: 'README', curl: /"per_page":25.*2 items succeeded.*"deleted":\d/s },
  { page: 'docs/run-in-production', curl: /Tenant bakery was made.*client secret.*ok +event log.*night-/s },
  { page: 'docs/operations', curl: /acme.*data-erased/s },
];

/** Commands that are not pasted, by a part of them, and why. What configures other programs is not tried: they are not here. */
const NOT_PASTED = {
  OTEL_EXPORTER_OTLP_ENDPOINT: 'test/acceptance/traces',
  'export EVENTSTORE_URL': 'test/cli/migrate.test.ts',
  'for proof in': 'test/cli/auditExport.test.ts',
  'npm run bench': 'needs an idle machine',
  'npm run dev:console': 'does not end',
  'npm ci && npm start': 'the service is there already',
};
const isPasted = ({ text }: Block): boolean => !Object.keys(NOT_PASTED).some((part) => text.includes(part));

/** Guides to the console, without commands. */
const FOR_PEOPLE = ['clerks', 'admins'];

/** What a reader may follow to others; nothing of a page is loaded from there. */
const LINKS_TO_OTHERS = /<a [^>]*href="https?:[^>]*>/g;

const RESTART = 'npm start\n';
/** The first line of a block that wants the service away; it is started again after it. */
const STOPPED = '# with the service stopped\n';

const isThere = (command: string): boolean => spawnSync(command, ['--version']).status === 0;

describe('the papers, as printed', () => {
  let workplace: Workplace;
  let service: RunningCli;
  let receiverPort: number;
  let firstPrinted: string;

  beforeAll(async () => {
    workplace = await Workplace.make();
    await linkCommand(workplace.directory);
    receiverPort = await freePort();
    service = await workplace.start({}, '--demo');
    await service.printed('/docs');
    firstPrinted = service.output;
    await workplace.json(['tenant', 'create', 'acme', '--order-model', 'dyn_stock_order']);
  });
  afterAll(() => workplace.remove());

  async function restart(meanwhile?: () => Promise<void>): Promise<void> {
    const { port } = service;
    await service.stop();
    await meanwhile?.();
    service = await workplace.start({ PORT: port });
  }

  describe.each(PRINTED)('$page', ({ page, curl, programs, isElsewhere }) => {
    const where = (): Where => ({
      cwd: workplace.directory,
      env: { ...process.env, ...(isElsewhere && { SERVICE: service.origin }) },
    });
    beforeAll(async () => {
      await saveFiles(await blocksOf(page, service.port, receiverPort), workplace.directory);
      if (isElsewhere) await saveFiles(await blocksOf('docs/guides/getting-started', 9), workplace.directory);
    });

    it('curl', async () => {
      const shell = new Shell(where().cwd, where().env);
      try {
        for (const block of await blocksOf(page, service.port, receiverPort)) {
          const { language, about, text } = block;
          if (language !== 'sh' || about.includes('file=') || !isPasted(block)) continue;
          if (text === RESTART) await restart();
          else if (text.startsWith(STOPPED)) await restart(() => shell.paste(text));
          else await shell.paste(text);
          if (text.includes('node receiver.mjs') && isThere('python3')) {
            await shell.paste(text.replace('node receiver.mjs', 'python3 receiver.py'));
            expect(shell.output.match(/PO 4713, lines: 1\n/g)).toHaveLength(2);
          }
        }
        expect(shell.output).toMatch(curl);
      } finally {
        shell.close();
      }
    });

    for (const language of programs === undefined ? [] : PROGRAMS) {
      (isThere(language.command) ? it : it.skip)(language.language, async () => {
        const blocks = await blocksOf(page, service.port, receiverPort);
        expect(await printedBy(blocks, language, where())).toMatch(programs ?? '');
      });
    }
  });

  it('README.md shows what a first start prints', async () => {
    const shown = (await blocksOf('README', service.port)).find(({ text }) => text.startsWith('Listening'));
    for (const line of shown?.text.split('\n') ?? ['nothing']) expect(firstPrinted).toContain(line.replace(/ +…$/, ''));
  });

  it('commands of all other papers are known', async () => {
    const { stdout } = await execute('git', ['ls-files', '*.md'], { cwd: REPOSITORY });
    const pages = stdout.trim().replaceAll('.md', '').split('\n');
    const others = pages.filter((name) => !PRINTED.some(({ page }) => page === name));
    const blocks = (await Promise.all(others.map((page) => blocksOf(page, 0)))).flat();
    expect(blocks.filter((block) => block.language === 'sh' && isPasted(block))).toEqual([]);
  });

  it('leave nothing in a clone that git would take in: keys, secrets, programs', async () => {
    expect(await shownByGit(workplace.directory)).toEqual([]);
  });

  describe('/docs', () => {
    const get = (path: string, headers: { readonly [name: string]: string } = {}) =>
      fetch(`${service.origin}${path}`, { headers, redirect: 'manual' });
    const named = (html: string): readonly string[] =>
      [...html.replace(LINKS_TO_OTHERS, '').matchAll(/ (?:href|src)="([^"]*)"/g)].map(([, address = '']) =>
        address.replaceAll('&amp;', '&'),
      );

    it('leads to every guide, every address on every page is one of the service, and every heading that is named is there', async () => {
      const pages = new Map<string, string>();
      const headings = new Set<string>();
      const open = ['/docs'];
      for (let path = open.pop(); path !== undefined; path = open.pop()) {
        const answer = await get(path, { 'Accept-Encoding': 'br' });
        expect({ path, status: answer.status }).toEqual({ path, status: 200 });
        pages.set(path, await answer.text());
        const isPage = answer.headers.get('content-type')?.startsWith('text/html') === true;
        const addresses = isPage ? named(pages.get(path) ?? '') : [];
        for (const address of addresses) expect(address).toMatch(/^(\/docs|\/console$|#|data:,$)/);
        const local = addresses.filter((address) => address.startsWith('/docs'));
        for (const address of local) if (address.includes('#')) headings.add(address);
        const paths = local.map((address) => address.split('#')[0] ?? '');
        open.push(...paths.filter((address) => !pages.has(address) && !open.includes(address)));
      }
      for (const address of headings) {
        const [path = '', heading = ''] = address.split('#');
        expect({ address, isThere: pages.get(path)?.includes(`id="${decodeURIComponent(heading)}"`) }).toEqual({
          address,
          isThere: true,
        });
      }
      const guides = (await readdir(join(REPOSITORY, 'docs/guides'))).map((name) => `/docs/${name.replace('.md', '')}`);
      const others = 'contract run-in-production operations engines limits webhooks events readme reference'.split(' ');
      expect([...pages.keys()]).toEqual(expect.arrayContaining([...guides, ...others.map((name) => `/docs/${name}`)]));
      const printed = [...PRINTED.map(({ page }) => page), ...FOR_PEOPLE.map((name) => `docs/guides/${name}`)];
      const inGuides = printed.filter((page) => page.startsWith('docs/guides/'));
      expect(inGuides.map((page) => `/${page.replace('guides/', '')}`).sort()).toEqual(guides.sort());
    });

    it('lets pages run, load and call what comes from the service, and nothing else', async () => {
      for (const path of ['/docs', '/docs/getting-started', '/docs/reference']) {
        const answer = await get(path);
        expect(answer.headers.get('content-security-policy')?.split('; ')).toEqual(
          expect.arrayContaining(["default-src 'none'", "script-src 'self'", "connect-src 'self'"]),
        );
        expect(await answer.text()).not.toMatch(/<script(?![^>]* src=)/);
      }
    });

    it('has no other files', async () => {
      for (const path of [
        '/docs/nothing',
        '/docs/..%2f..%2fpackage.json',
        '/docs/constructor',
        '/docs/assets',
        '/docs/decisions/..%2f..%2f..%2fpackage.json',
      ]) {
        expect((await get(path)).status).toBe(404);
      }
    });
  });
});

/** `npm start` and the others build what has changed, and nothing else: build.mjs, in a small project of its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { REPOSITORY } from './cli.js';

const LIST_OF_NPM = 'node_modules/.package-lock.json';
const FILES = {
  'src/cli/index.ts': "export const said: string = 'first';\n",
  'src/other.ts': 'export const other = 1;\n',
  'docs/guides/page.md': '# A page\n',
  ...Object.fromEntries(['mjs', 'py', 'go'].map((ending) => [`docs/snippets/proof.${ending}`, '\n'])),
  'docs/site/build.mjs': `
    import { cpSync } from 'node:fs';
    cpSync('docs/guides', 'dist/site', { recursive: true });`,
  'console/src/main.tsx': 'export const page = 1;\n',
  'console/build.mjs': `
    import { cpSync } from 'node:fs';
    cpSync('console/src', 'dist/console', { recursive: true });`,
  [LIST_OF_NPM]: '{}',
};
/** The first word of a build, and all that one with nothing to do says. */
const BUILDS = 'Building…\n';
const NOTHING = '';

let directory: string;
const at = (file: string): string => join(directory, file);

async function put(file: string, text: string): Promise<void> {
  await mkdir(dirname(at(file)), { recursive: true });
  await writeFile(at(file), text);
}

async function build(...args: string[]): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(process.execPath, ['build.mjs', ...args], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  const [code] = await once(child, 'close');
  return { code, output };
}

const builds = async (): Promise<void> => expect(await build()).toEqual({ code: 0, output: BUILDS });
const isUpToDate = async (): Promise<void> => expect(await build()).toEqual({ code: 0, output: NOTHING });

let built: string;

beforeAll(async () => {
  built = await mkdtemp(join(tmpdir(), 'build-test-'));
  directory = built;
  for (const file of ['build.mjs', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'])
    await cp(join(REPOSITORY, file), at(file));
  for (const [file, text] of Object.entries(FILES)) await put(file, text);
  for (const name of ['typescript', '@typescript', '@types', 'undici-types', 'rolldown'])
    await symlink(join(REPOSITORY, 'node_modules', name), at(`node_modules/${name}`));
  await builds();
});
afterAll(() => rm(built, { recursive: true, force: true }));

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'build-test-'));
  await cp(built, directory, { recursive: true, verbatimSymlinks: true });
});
afterEach(() => rm(directory, { recursive: true, force: true }));

it('makes nothing where nothing has changed, also after a checkout that only touched the files', async () => {
  const now = new Date();
  for (const file of Object.keys(FILES)) await utimes(at(file), now, now);
  await isUpToDate();
  expect(await build('--force')).toEqual({ code: 0, output: BUILDS });
});

it.each([
  ['a source, for as many bytes as before', 'src/other.ts', 'export const other = 2;\n'],
  ['a new guide', 'docs/guides/new.md', '# New\n'],
  ['a page of the console', 'console/src/main.tsx', 'export const page = 2;\n'],
  ['how the site is made', 'docs/site/build.mjs', FILES['docs/site/build.mjs'].replace('guides', 'site')],
  ['the installed packages', LIST_OF_NPM, '{ "packages": {} }'],
])('builds once when %s changed, however old its time says it is', async (_, file, text) => {
  await put(file, text);
  await utimes(at(file), new Date(0), new Date(0));
  await builds();
  await isUpToDate();
});

it('builds where files of dist are gone, changed or too many, and when a source is gone', async () => {
  await rm(at('dist/other.js'));
  await put('dist/third.js', '');
  await builds();
  expect([existsSync(at('dist/other.js')), existsSync(at('dist/third.js'))]).toEqual([true, false]);
  await put('dist/other.js', 'export const other = 3;\n');
  await builds();
  expect(await readFile(at('dist/other.js'), 'utf8')).toContain('other = 1');
  await rm(at('src/other.ts'));
  await builds();
  expect(existsSync(at('dist/other.js'))).toBe(false);
  await isUpToDate();
});

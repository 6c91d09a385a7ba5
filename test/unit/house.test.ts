/** House rules that a program can check. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { routesOf } from '#app/api/routes/operation.js';
import { areas } from '#app/api/routeTable.js';
import { settings } from '#app/config.js';
import { eventTypes } from '#app/domain/eventTypes.js';
import * as limits from '#app/domain/limits.js';

const ROOT = resolve(__dirname, '../..');
const LONGEST_FILE = 400;

const text = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const pathsIn = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(ROOT.length + 1))
    .filter((path) => /\.(ts|mjs|js|md|yml)$/.test(path) && !path.includes('node_modules'));
/** Every folder with files in it: git leaves empty ones behind in an old work tree. */
const foldersIn = (folder: string): readonly string[] => {
  const parents = (path: string): readonly string[] =>
    dirname(path) === folder ? [] : [dirname(path), ...parents(dirname(path))];
  return [...new Set(pathsIn(folder).flatMap(parents))];
};

test(`no file of the sources has more than ${LONGEST_FILE} lines`, () => {
  const lengths = pathsIn('src').map((path) => [path, text(path).split('\n').length - 1] as const);
  expect(lengths.filter(([, lines]) => lines > LONGEST_FILE)).toEqual([]);
});

test('at the root of the sources are only main.ts, which puts the parts together, and config.ts', () => {
  const files = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.map(({ name }) => name).sort()).toEqual(['config.ts', 'main.ts']);
});

test('CONTRIBUTING.md names every folder directly below test', () => {
  const map = text('CONTRIBUTING.md');
  const folders = foldersIn('test').filter((path) => dirname(path) === 'test');
  expect(folders.filter((folder) => !map.includes(folder))).toEqual([]);
});

test('ARCHITECTURE.md names every folder of the sources', () => {
  const map = text('ARCHITECTURE.md');
  const names = foldersIn('src').map((path) => path.split('/').at(-1) ?? '');
  expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(map))).toEqual([]);
});

test.each(['ARCHITECTURE.md', 'CONTRIBUTING.md', 'README.md'])('every file that %s names is there', (page) => {
  const files = ['src', 'test'].flatMap(pathsIn);
  const named = [...text(page).matchAll(/`([\w./-]+\.ts)`/g)].map(([, path]) => path ?? '');
  const isThere = (path: string) => files.some((file) => file === path || file.endsWith(`/${path}`));
  expect(named.filter((path) => !isThere(path))).toEqual([]);
});

test('docs/limits.md shows every limit with its value, and no other', () => {
  const rows = text('docs/limits.md').split('\n');
  const isShown = ([name, value]: [string, number]) =>
    rows.some((row) => row.includes(`\`${name}\``) && new RegExp(`\\b${value.toLocaleString('en')}\\b`).test(row));
  expect(Object.entries(limits).filter((limit) => !isShown(limit))).toEqual([]);
  const named = [...rows.join().matchAll(/`([A-Z]+_[A-Z_]+)`/g)].map(([, name = '']) => name);
  expect(named.filter((name) => !(name in limits) && !(name in settings))).toEqual([]);
});

test('each limit has a test through HTTP, which names it', () => {
  const tests = ['test/acceptance', 'test/attacks'].flatMap(pathsIn).map(text).join();
  expect(Object.keys(limits).filter((name) => !new RegExp(`\\b${name}\\b`).test(tests))).toEqual([]);
});

test('each path is of one area, which has all of its checks: in whatever order areas are served', () => {
  const ownersOf = (whole: string) =>
    areas.filter((area) =>
      area.prefix === ''
        ? routesOf(area).some(({ path }) => path === whole)
        : `${whole}/`.startsWith(`${area.prefix}/`),
    );
  for (const area of areas)
    for (const { path } of routesOf(area)) expect(ownersOf(`${area.prefix}${path}`)).toEqual([area]);
});

test('docs/events.md has an entry for every event type', () => {
  const entries = [...text('docs/events.md').matchAll(/\*\*([A-Z]\w+)\*\*/g)].map(([, type]) => type);
  expect(entries.sort()).toEqual(Object.keys(eventTypes).sort());
});

test('fields of records are read with ownValue: a name from outside may be one that every object has', () => {
  const inherited = /\b\w*[fF]ields\[(?:\w+\.)?(?:name|field|key|unique)\](?! = )/;
  const files = pathsIn('src').filter((path) => !path.endsWith('/fieldTypes.ts') && inherited.test(text(path)));
  expect(files).toEqual([]);
});

test('the API and commands read streams in slices, by streamPages: a whole stream may have gigabytes', () => {
  const files = ['src/api', 'src/commands'].flatMap(pathsIn).filter((path) => !path.endsWith('/logReads.ts'));
  expect(files.filter((path) => /\bread(?:Stream|Slice)\(|'readStream'/.test(text(path)))).toEqual([]);
});

test('the driver of SQLite is known to openSqlite alone, so that another one takes its place in one file', () => {
  const files = ['src', 'test', 'bench'].flatMap(pathsIn).filter((path) => !path.endsWith('/openSqlite.ts'));
  expect(files.filter((path) => /^import [^']*'@rocicorp\/zero-sqlite3'/m.test(text(path)))).toEqual([]);
});

test('code, test titles and pages say a rule instead of the number of an issue', () => {
  const named = ['src', 'test', 'bench', 'docs'].flatMap(pathsIn).filter((path) => /\bissue #?\d/i.test(text(path)));
  expect(named).toEqual([]);
});

/** Sections of standards have their name before them. */
const OF_STANDARDS = /(?:RFC \d+|Fetch standard|Standard Webhooks)[^§]{0,30}§[\d.]+(?:,? (?:and |to )?§[\d.]+)*/g;

test('each section of the contract that code, tests and pages cite is a heading of docs/contract.md', () => {
  const headings = [...text('docs/contract.md').matchAll(/^##+ (\d[\d.]*?)\.? /gm)].map(([, number]) => number);
  const cited = ['src', 'test', 'docs', 'console'].flatMap(pathsIn).flatMap((path) => {
    const ours = text(path)
      .replaceAll(/\n *(?:\/\/|\*)? */g, ' ')
      .replaceAll(OF_STANDARDS, '');
    return (ours.match(/§\d+(\.\d+)*/g) ?? []).map((section) => ({ path, section }));
  });
  expect(cited.length).toBeGreaterThan(200);
  expect(cited.filter(({ section }) => !headings.includes(section.slice(1)))).toEqual([]);
});

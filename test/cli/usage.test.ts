/** What every command does: help, wrong usage, wrong settings. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY, Workplace } from './cli.js';

type Command = readonly string[];
let workplace: Workplace;
let groups: readonly (readonly [group: Command, within: readonly Command[]])[];
beforeAll(async () => {
  workplace = await Workplace.make();
  const first = await commandsOf([]);
  groups = await Promise.all(first.map(async (group) => [group, await commandsOf(group)] as const));
});
afterAll(() => workplace.remove());

const text = (name: string): string => readFileSync(join(REPOSITORY, name), 'utf8');

/** The commands that the help of this one names. */
async function commandsOf(parents: Command): Promise<readonly Command[]> {
  const { stdout } = await workplace.run([...parents, '--help']);
  const [, listed = ''] = /\nCommands:\n((?: {2}.*\n)+)/.exec(stdout) ?? [];
  const names = [...listed.matchAll(/^ {2}([a-z][\w-]*)/gm)].map(([, name = '']) => name);
  return names.filter((name) => name !== 'help').map((name) => [...parents, name]);
}

it('the help of every command has its usage and an example', async () => {
  const all = groups.flatMap(([group, within]) => [group, ...within]);
  expect(all).toEqual(expect.arrayContaining([['start'], ['tenant', 'create'], ['webhook', 'reseal'], ['doctor']]));
  for (const command of all) {
    const { code, stdout, stderr } = await workplace.run([...command, '--help']);
    expect(stdout).toContain(`Usage: ${['dynamic-assets', ...command].join(' ')}`);
    expect(stdout).toMatch(/Commands:|Example:\n {2}\$ /);
    // All users of the machine could see it.
    expect(stdout).not.toMatch(/--[\w-]*(password|passphrase|secret|token)[\w-]* </);
    expect({ command, code, stderr }).toEqual({ command, code: 0, stderr: '' });
  }
});

it('docs/settings.md has every command, and no other', () => {
  const rows = text('docs/settings.md').match(/^\| `[a-z].*/gm) ?? [];
  for (const [group, within] of groups) {
    const isShown = (command: Command) =>
      rows.some(
        (row) => row.startsWith(`| \`${group}`) && command.every((word) => new RegExp(`\\b${word}\\b`).test(row)),
      );
    expect((within.length > 0 ? within : [group]).filter((command) => !isShown(command))).toEqual([]);
  }
  expect(new Set(rows.map((row) => /[a-z]+/.exec(row)?.[0]))).toEqual(new Set(groups.flatMap(([group]) => group)));
});

it.each([
  [['frobnicate'], "unknown command 'frobnicate'"],
  [['start', '--fast'], "unknown option '--fast'"],
  [['tenant', 'create', 'acme'], '--order-model'],
  [['tenant', 'create', 'acme', '--order-model', 'dyn_party'], 'dyn_stock_order, dyn_transport_order'],
  [['client', 'create', '--name', 'ERP'], '--tenant'],
])('wrong usage ends with 2 and a message on standard error: %j', async (command, message) => {
  const { code, stdout, stderr } = await workplace.run(command);
  expect(stderr).toContain(message);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
});

it.each([
  ['start', 'PORT', 'http', 'must be a whole number from 0 to 65535'],
  ['tenant list', 'DURABILITY', 'maybe', 'must be full or normal'],
  ['config', 'DURABILITY', 'maybe', 'must be full or normal'],
])(
  'a wrong setting stops every command, with what is allowed: %s with %s=%s',
  async (command, name, value, allowed) => {
    const { code, stderr } = await workplace.run(command.split(' '), { [name]: value });
    expect({ code, stderr }).toEqual({ code: 1, stderr: `${name} ${allowed} (it is "${value}")\n` });
  },
);

it('config shows each setting with its value, where that comes from and its meaning, and no key and no password', async () => {
  const key = Buffer.alloc(32, 7).toString('base64');
  const url = 'mongodb://service:hush@127.0.0.1:27017/assets';
  const { code, stdout } = await workplace.run(['config'], { PORT: '8080', SECRETS_KEY: key, MONGODB_URL: url });
  expect(code).toBe(0);
  expect(stdout).toContain('PORT=8080  (default: 3000)\n    TCP port of the HTTP server; 0 takes a free one\n');
  expect(stdout).toContain('HOST=127.0.0.1  (default)\n');
  expect(stdout).toContain('SECRETS_KEY=********');
  expect(stdout).toContain('MONGODB_URL=mongodb://service:********@127.0.0.1:27017/assets');
  expect(stdout).not.toContain(key);
  expect(stdout).not.toContain('hush');
});

it.each([
  ['tenant list', 'There is no event log in '],
  ['client create --name ERP --tenant acme', 'There is no event log in '],
  ['projections rebuild', 'There is no event log in '],
  ['doctor', ''],
  ['tenant create Acme! --order-model dyn_stock_order', 'The name must be 1 to 40 lower-case letters'],
  ['tenant create acme --order-model dyn_stock_order --admin-email x', 'The email field must be'],
])('a refused command makes no data directory, and names the one that it looked into: %s', async (command, message) => {
  const { code, stdout, stderr } = await workplace.run(command.split(' '), { DATA_DIR: 'nowhere' });
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(message) });
  const directory = join(workplace.directory, 'nowhere');
  if (!command.startsWith('tenant create')) expect(stdout + stderr).toContain(directory);
  expect(existsSync(directory)).toBe(false);
});

it('the version is the same everywhere: of the package, its lock file, the command, the changelog and a backup', async () => {
  const read = (...path: string[]): string => readFileSync(join(...path), 'utf8');
  const { version } = JSON.parse(read(REPOSITORY, 'package.json'));
  expect(JSON.parse(read(REPOSITORY, 'package-lock.json')).version).toBe(version);
  const { stdout } = await workplace.run(['-V']);
  expect(/^(\S+)( \([0-9a-f]{7,40}\))?\n$/.exec(stdout)?.[1]).toBe(version);
  const releases = [...read(REPOSITORY, 'CHANGELOG.md').matchAll(/^## (\S+) \(\d{4}-\d\d-\d\d\)$/gm)].map(
    ([, release]) => release,
  );
  expect(releases[0]).toBe(version);
  await workplace.json(['tenant', 'create', 'acme', '--order-model', 'dyn_stock_order']);
  await workplace.json(['backup', 'kept']);
  expect(JSON.parse(read(workplace.directory, 'kept', 'backup.json'))).toMatchObject({ version });
});

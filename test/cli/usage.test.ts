/** What every command does: help, wrong usage, wrong settings. */
import { settings } from '#app/config.js';
import { Workplace } from './cli.js';

let workplace: Workplace;
beforeAll(async () => {
  workplace = await Workplace.make();
});
afterAll(() => workplace.remove());

/** The commands that the help of this one names. */
async function commandsOf(parents: readonly string[]): Promise<readonly (readonly string[])[]> {
  const { stdout } = await workplace.run([...parents, '--help']);
  const [, listed = ''] = /\nCommands:\n((?: {2}.*\n)+)/.exec(stdout) ?? [];
  const names = [...listed.matchAll(/^ {2}([a-z][\w-]*)/gm)].map(([, name = '']) => name);
  return names.filter((name) => name !== 'help').map((name) => [...parents, name]);
}

it('the help of every command has its usage and an example; that of start names every setting', async () => {
  const first = await commandsOf([]);
  const second = await Promise.all(first.map(commandsOf));
  const all = [...first, ...second.flat()];
  expect(all).toEqual(expect.arrayContaining([['start'], ['tenant', 'create'], ['webhook', 'reseal'], ['doctor']]));
  for (const command of all) {
    const { code, stdout, stderr } = await workplace.run([...command, '--help']);
    expect(stdout).toContain(`Usage: ${['dynamic-assets', ...command].join(' ')}`);
    expect(stdout).toMatch(/Commands:|Example:\n {2}\$ /);
    // All users of the machine could see it.
    expect(stdout).not.toMatch(/--[\w-]*(password|passphrase|secret|token)[\w-]* </);
    expect({ command, code, stderr }).toEqual({ command, code: 0, stderr: '' });
  }
  const { stdout } = await workplace.run(['start', '--help']);
  for (const name of Object.keys(settings)) expect(stdout).toMatch(new RegExp(`^ {2}${name}\\b`, 'm'));
});

const createWebhook = ['webhook', 'create', '--tenant', 'acme', '--url', 'https://a.example'];
it.each([
  [['frobnicate'], "unknown command 'frobnicate'"],
  [['start', '--fast'], "unknown option '--fast'"],
  [['tenant', 'create', 'acme'], '--order-model'],
  [['tenant', 'create', 'acme', '--order-model', 'dyn_party'], 'dyn_stock_order, dyn_transport_order'],
  [['client', 'create', '--name', 'ERP'], '--tenant'],
  [[...createWebhook, '--custom-data', '{'], 'JSON object'],
  [[...createWebhook, '--custom-data', '{"a":1,"a":2}'], 'The body has a twice.'],
  [['client', 'create', '--tenant', 'acme', '--name', 'a\ud800'], 'An argument is not valid UTF-8.'],
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

it.each([[['start']], [['config']]])('%j with a wrong SECRETS_KEY does not show it', async (command) => {
  const { code, stdout, stderr } = await workplace.run(command, { SECRETS_KEY: 'short' });
  const allowed = 'must be 32 bytes in base64, or several such keys with commas between them';
  expect({ code, stderr }).toEqual({ code: 1, stderr: `SECRETS_KEY ${allowed} (it is not shown)\n` });
  expect(stdout).not.toContain('short');
});

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

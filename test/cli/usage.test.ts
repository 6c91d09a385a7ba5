import { settings } from '#app/config.js';
import { Workplace } from './cli.js';

let workplace: Workplace;

beforeAll(async () => {
  workplace = await Workplace.make();
});
afterAll(() => workplace.remove());

describe('help', () => {
  it.each([
    [[]],
    [['start']],
    [['tenant', 'create']],
    [['tenant', 'list']],
    [['tenant', 'delete']],
    [['client', 'create']],
    [['client', 'list']],
    [['client', 'remove']],
    [['user', 'create']],
    [['user', 'list']],
    [['user', 'remove']],
    [['user', 'set-password']],
    [['webhook', 'create']],
    [['keys', 'list']],
    [['keys', 'rotate']],
    [['projections', 'list']],
    [['projections', 'verify']],
    [['projections', 'rebuild']],
    [['backup']],
    [['restore']],
    [['migrate']],
    [['audit', 'order']],
    [['audit', 'export']],
    [['doctor']],
    [['config']],
  ])('of %j has an example and ends with 0', async (command) => {
    const { code, stdout, stderr } = await workplace.run([...command, '--help']);
    expect(stdout).toContain(`Usage: ${['dynamic-assets', ...command].join(' ')}`);
    expect(stdout).toMatch(/Example:\n {2}\$ /);
    // All users of the machine could see it.
    expect(stdout).not.toMatch(/--[\w-]*(password|passphrase|secret|token)[\w-]* </);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('of start names every setting', async () => {
    const { stdout } = await workplace.run(['start', '--help']);
    for (const name of Object.keys(settings)) expect(stdout).toMatch(new RegExp(`^ {2}${name}\\b`, 'm'));
  });
});

describe('wrong usage ends with 2 and one clear message on standard error', () => {
  it.each([
    [['frobnicate'], "unknown command 'frobnicate'"],
    [['start', '--fast'], "unknown option '--fast'"],
    [['tenant', 'create', 'acme'], '--order-model'],
    [['tenant', 'create', 'acme', '--order-model', 'dyn_party'], 'dyn_stock_order, dyn_transport_order'],
    [['client', 'create', '--name', 'ERP'], '--tenant'],
    [['webhook', 'create', '--tenant', 'acme', '--url', 'https://a.example', '--custom-data', '{'], 'JSON object'],
    [
      ['webhook', 'create', '--tenant', 'acme', '--url', 'https://a.example', '--custom-data', '{"a":1,"a":2}'],
      'The body has a twice.',
    ],
    [['client', 'create', '--tenant', 'acme', '--name', 'a\ud800'], 'An argument is not valid UTF-8.'],
  ])('%j', async (command, message) => {
    const { code, stdout, stderr } = await workplace.run(command);
    expect(stderr).toContain(message);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });
});

describe('a wrong setting stops every command, with its name and what is allowed', () => {
  it.each([
    ['PORT', 'http', 'must be a whole number from 0 to 65535'],
    ['LOG_LEVEL', 'loud', 'must be fatal, error, warn, info, debug, trace or silent'],
    ['EVENTSTORE_URL', 'localhost:2113', 'must be a URL such as esdb://127.0.0.1:2113?tls=false'],
    [
      'CORS_ORIGINS',
      '*',
      'must be origins, each without a path and without *, such as https://portal.example.com,http://localhost:5173',
    ],
    [
      'CORS_ORIGINS',
      'https://portal.example.com/app',
      'must be origins, each without a path and without *, such as https://portal.example.com,http://localhost:5173',
    ],
    [
      'CORS_ORIGINS',
      'https://*.example.com',
      'must be origins, each without a path and without *, such as https://portal.example.com,http://localhost:5173',
    ],
    [
      'CORS_ORIGINS',
      'portal.example.com',
      'must be origins, each without a path and without *, such as https://portal.example.com,http://localhost:5173',
    ],
    [
      'CORS_ORIGINS',
      'https://a@example.com',
      'must be origins, each without a path and without *, such as https://portal.example.com,http://localhost:5173',
    ],
    [
      'CORS_ORIGINS',
      'null',
      'must be origins, each without a path and without *, such as https://portal.example.com,http://localhost:5173',
    ],
    ['WEBHOOK_ALLOWED_NETWORKS', '10.0.0.1', 'must be CIDRs such as 10.0.0.0/8,127.0.0.0/8'],
  ])('start with %s=%s', async (name, value, allowed) => {
    const { code, stdout, stderr } = await workplace.run(['start'], { [name]: value });
    expect(stderr).toBe(`${name} ${allowed} (it is ${JSON.stringify(value)})\n`);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  });

  it.each([[['start']], [['config']]])('%j with a wrong SECRETS_KEY, which is not shown', async (command) => {
    const { code, stdout, stderr } = await workplace.run(command, { SECRETS_KEY: 'short' });
    const allowed = 'must be 32 bytes in base64, or several such keys with commas between them';
    expect({ code, stderr }).toEqual({ code: 1, stderr: `SECRETS_KEY ${allowed} (it is not shown)\n` });
    expect(stdout).not.toContain('short');
  });

  it.each([[['tenant', 'list']], [['projections', 'list']], [['config']]])('%j', async (command) => {
    const { code, stderr } = await workplace.run(command, { PORT: '', DURABILITY: 'maybe' });
    expect(stderr).toBe('DURABILITY must be full or normal (it is "maybe")\n');
    expect(code).toBe(1);
  });
});

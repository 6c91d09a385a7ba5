/** API clients and users on the command line, beside a running service. */
import { z } from 'zod';
import { ApiClient, at } from './apiClient.js';
import { type RunningCli, Workplace } from './cli.js';

const OF = ['--tenant', 'acme'];
const EVA = 'eva@acme.example';
const TABLES = '/api/v1/dynamic-assets/dyn';
const SESSION = '/api/v1/platform/session';

let workplace: Workplace;
let service: RunningCli;
const opened: ApiClient[] = [];

beforeAll(async () => {
  workplace = await Workplace.make();
  service = await workplace.start();
  await workplace.json(['tenant', 'create', 'acme', '--order-model', 'dyn_stock_order']);
  await workplace.json(['tenant', 'create', 'rival', '--order-model', 'dyn_stock_order']);
});
afterAll(async () => {
  for (const api of opened) api.close();
  await workplace.remove();
});

function newApi(): ApiClient {
  const api = new ApiClient(service.origin, 'acme.localhost');
  opened.push(api);
  return api;
}

const create = (email: string): readonly string[] => [
  ...['user', 'create', ...OF, '--email', email],
  ...['--first-name', 'Eva', '--last-name', 'Smit'],
];
const addEva = async (email = EVA): Promise<string> => String(at(await workplace.json(create(email)), 'password'));

async function signedIn(email: string, password: string): Promise<ApiClient> {
  const api = newApi();
  await api.signIn(email, password);
  return api;
}

describe('client', () => {
  it('list shows clients and no secret; remove ends the tokens at once', async () => {
    const made = await workplace.json(['client', 'create', ...OF, '--name', 'ERP', '--scopes', 'read:order_data']);
    const { client_id: id, client_secret: secret } = z
      .object({ client_id: z.string(), client_secret: z.string() })
      .parse(made);
    const api = newApi();
    await api.useClientCredentials({ clientId: id, clientSecret: secret });
    await api.request('GET', TABLES);

    const listed = await workplace.json(['client', 'list', ...OF]);
    expect(listed).toContainEqual({
      client_id: id,
      name: 'ERP',
      scopes: ['read:order_data'],
      created_at: expect.stringMatching(/Z$/),
    });
    const { stdout } = await workplace.run(['client', 'list', ...OF]);
    expect(stdout).toMatch(new RegExp(`^${id} +ERP +.*read:order_data$`, 'm'));
    expect(`${JSON.stringify(listed)}${stdout}`).not.toMatch(/secret|das_/i);

    expect(await workplace.json(['client', 'remove', ...OF, '--id', id])).toEqual({ client_id: id, removed: true });
    await expect(api.request('GET', TABLES)).rejects.toThrow('was answered 401');
    expect(await workplace.json(['client', 'list', ...OF])).not.toContainEqual(
      expect.objectContaining({ client_id: id }),
    );
  });
});

describe('user', () => {
  it('set-password takes what is piped in: the old password and the sessions end at once', async () => {
    const old = await addEva();
    const session = await signedIn(EVA, old);
    const fresh = 'a new long password';
    const command = ['user', 'set-password', ...OF, '--email', 'Eva@acme.example', '--json'];
    const { code, stdout, stderr } = await workplace.run(command, {}, `${fresh}\n`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ changed: true });
    await expect(session.request('GET', SESSION)).rejects.toThrow('was answered 401');
    await expect(signedIn(EVA, old)).rejects.toThrow('was answered 401');
    await (await signedIn(EVA, fresh)).request('GET', SESSION);
  });

  it('create takes a password that is piped in, and shows it to nobody', async () => {
    const password = 'a password of her own';
    const command = [...create('ines@acme.example'), '--ask-password', '--json'];
    const { code, stdout, stderr } = await workplace.run(command, {}, `${password}\n`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({ id: expect.any(Number), email: 'ines@acme.example', roles: ['validator'] });
    await (await signedIn('ines@acme.example', password)).request('GET', SESSION);
  });

  it('remove ends the sessions at once, and list shows the user no more', async () => {
    const email = 'otto@acme.example';
    const session = await signedIn(email, await addEva(email));
    expect(await workplace.json(['user', 'list', ...OF])).toContainEqual({
      id: expect.any(Number),
      email,
      first_name: 'Eva',
      last_name: 'Smit',
      locale: 'en',
      roles: ['validator'],
    });
    expect(await workplace.json(['user', 'remove', ...OF, '--email', email])).toMatchObject({ email, removed: true });
    await expect(session.request('GET', SESSION)).rejects.toThrow('was answered 401');
    const { stdout } = await workplace.run(['user', 'list', ...OF]);
    expect(stdout).toContain('admin@acme.example');
    expect(stdout).not.toContain(email);
  });

  it.each([
    ['nothing', '', 'No password was given'],
    ['a short one', 'short\n', 'The password field must be at least 12 characters.'],
    ['a NUL character', 'correct horse\0battery\n', 'must be well-formed Unicode text without NUL characters.'],
    ['no UTF-8', Buffer.from('correct horse b\xe4ttery\n', 'latin1'), 'The password is not valid UTF-8.'],
    ['one without an end', 'x'.repeat(100_000), 'A password has at most 200 characters.'],
  ])('set-password refuses %s', async (_, input, message) => {
    const command = ['user', 'set-password', ...OF, '--email', 'admin@acme.example'];
    const { code, stderr } = await workplace.run(command, {}, input);
    expect(stderr).toContain(message);
    expect(code).toBe(1);
  });

  it('the last admin stays', async () => {
    const { code, stderr } = await workplace.run(['user', 'remove', ...OF, '--email', 'admin@acme.example']);
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('This is the last admin') });
  });
});

it.each([
  [['client', 'list', '--tenant', 'nobody'], 'There is no tenant nobody. There is: acme, rival.'],
  [['client', 'create', '--tenant', 'nobody', '--name', 'E'], 'There is no tenant nobody. There is: acme, rival.'],
  [['webhook', 'list', '--tenant', 'nobody'], 'There is no tenant nobody. There is: acme, rival.'],
  [['client', 'remove', '--tenant', 'rival', '--id', 'x'], /^There is no API client x\. There is: [0-9a-f-]{36}\.\n$/],
  [['user', 'remove', '--tenant', 'rival', '--email', 'x@y.example'], 'There is: admin@rival.example.'],
  [['user', 'set-password', '--tenant', 'rival', '--email', 'x@y.example'], 'There is: admin@rival.example.'],
])('%j ends with 2, and names what there is', async (command, message) => {
  const { code, stdout, stderr } = await workplace.run(command);
  expect(stderr).toMatch(message);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
});

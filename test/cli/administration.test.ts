/** Tenants, API clients and users on the command line, beside a running service: what is made can be used at once. */
import { ApiClient, at, textAt } from './apiClient.js';
import { type RunningCli, Workplace } from './cli.js';

const OF = ['--tenant', 'acme'];
const EVA = ['--email', 'eva@acme.example'];
const NAMES = ['--first-name', 'Eva', '--last-name', 'Smit'];
const ITEMS = '/api/v1/dynamic-assets/dyn/dyn_item/assets';
const SESSION = '/api/v1/platform/session';
const SCOPES = ['read:reference_data', 'write:reference_data', 'read:order_data', 'write:order_data'];

let workplace: Workplace;
let service: RunningCli;
let settings: Record<string, string>;
const opened: ApiClient[] = [];

const run = (...args: readonly string[]) => workplace.run(args, settings);
const json = (...args: readonly string[]) => workplace.json(args, settings);
const createTenant = (name: string) => ['tenant', 'create', name, '--order-model', 'dyn_stock_order'];
const createWebhook = (url: string) => ['webhook', 'create', ...OF, '--url', url];

beforeAll(async () => {
  workplace = await Workplace.make();
  settings = { LOG_LEVEL: 'fatal' };
  await json(...createTenant('acme'));
  service = await workplace.start(settings);
});
afterAll(async () => {
  for (const api of opened) api.close();
  await workplace.remove();
});

function apiOf(tenant = 'acme'): ApiClient {
  const api = new ApiClient(service.origin, `${tenant}.localhost`);
  opened.push(api);
  return api;
}
async function signedIn(email: string, password: string, tenant?: string): Promise<ApiClient> {
  const api = apiOf(tenant);
  await api.signIn(email, password);
  return api;
}

describe('tenant', () => {
  const opening = (name: string, email = `admin@${name}.example`) => ({
    tenant: name,
    admin: { email, password: expect.stringMatching(/^.{12,}$/) },
    client: { client_id: expect.any(String), client_secret: expect.any(String), scopes: SCOPES },
  });

  it('create prints what signs in and what has a token at once; without --json it is for people', async () => {
    const made = await json(...createTenant('later'));
    expect(made).toEqual(opening('later'));
    await signedIn(textAt(made, 'admin', 'email'), textAt(made, 'admin', 'password'), 'later');
    const api = apiOf('later');
    const [clientId, clientSecret] = [textAt(made, 'client', 'client_id'), textAt(made, 'client', 'client_secret')];
    await api.useClientCredentials({ clientId, clientSecret });
    expect(at(await api.request('GET', ITEMS), 'meta', 'total')).toBe(0);
    const { stdout } = await run(...createTenant('plain'), '--admin-email', 'eva@plain.example');
    expect(stdout).toMatch(/admin e-mail +eva@plain\.example\n(.|\n)*client secret +das_/);
  });

  it('list shows them', async () => {
    const shown = { tenant: 'acme', display_name: 'acme', order_model: 'dyn_stock_order' };
    expect(await json('tenant', 'list')).toContainEqual(shown);
    expect((await run('tenant', 'list')).stdout).toMatch(/^acme +dyn_stock_order +acme$/m);
  });
});

describe('client', () => {
  it('create gives the scopes asked for, and a token at once', async () => {
    const made = await json('client', 'create', ...OF, '--name', 'ERP', '--scopes', 'read:reference_data');
    const scopes = ['read:reference_data'];
    expect(made).toEqual({ client_id: expect.any(String), client_secret: expect.any(String), scopes });
    const [id, clientSecret] = [textAt(made, 'client_id'), textAt(made, 'client_secret')];
    const api = apiOf();
    await api.useClientCredentials({ clientId: id, clientSecret });
    await api.request('GET', ITEMS);
  });
});

describe('user', () => {
  it('create and set-password: old passwords and sessions end as soon as the service has read of it', async () => {
    const made = await json('user', 'create', ...OF, ...EVA, ...NAMES, '--roles', 'validator,auditor');
    const shown = { id: 2, email: 'eva@acme.example', roles: ['validator', 'auditor'] };
    expect(made).toEqual({ ...shown, password: expect.any(String) });
    const session = await signedIn('eva@acme.example', textAt(made, 'password'));
    const changed = await json('user', 'set-password', ...OF, '--email', 'Eva@acme.example');
    expect(changed).toMatchObject({ changed: true, password: expect.any(String) });
    const refused = () => session.request('GET', SESSION).then(() => undefined, String);
    let refusal = await refused();
    while (refusal === undefined) refusal = await refused();
    expect(refusal).toContain('was answered 401');
    await expect(signedIn('eva@acme.example', textAt(made, 'password'))).rejects.toThrow('was answered 401');
    await signedIn('eva@acme.example', textAt(changed, 'password'));
  });
});

it.each<[number, readonly string[], string | RegExp]>([
  [1, createTenant('acme'), /^Tenant acme exists already\.\n$/],
  [1, ['client', 'create', ...OF, '--name', 'E', '--scopes', 'all'], /must be one of read:.*\n$/],
  [1, createWebhook('http://erp.example/'), /^The url field .*HTTPS.*\n$/],
  [1, createWebhook('https://10.0.0.1/'), /^The url field must lead to a public address on an allowed port\..*\n$/],
  [2, ['client', 'create', '--name', 'E', '--tenant', 'acne'], /^There is no tenant acne\.\n$/],
  [2, ['user', 'set-password', ...OF, '--email', 'x@y.example'], 'There is no user x@y.example in acme.'],
])('what cannot be done ends with %i, a message and no output: %j', async (expected, command, message) => {
  const { code, stdout, stderr } = await run(...command);
  expect(stderr).toEqual(
    typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message),
  );
  expect({ code, stdout }).toEqual({ code: expected, stdout: '' });
});

import { ApiClient, at } from './apiClient.js';
import { type RunningCli, Workplace } from './cli.js';

const SCOPES = ['read:reference_data', 'write:reference_data', 'read:order_data', 'write:order_data'];
const ITEMS = '/api/v1/dynamic-assets/dyn/dyn_item/assets';
const NETWORKS = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };

const createTenant = (name: string): string[] => ['tenant', 'create', name, '--order-model', 'dyn_stock_order'];
const createWebhook = (tenant: string, url: string): string[] => [
  'webhook',
  'create',
  '--tenant',
  tenant,
  '--url',
  url,
];

/** What `tenant create --json` must print, exactly. */
const openedTenant = (name: string) => ({
  tenant: name,
  admin: { email: `admin@${name}.example`, password: expect.stringMatching(/^.{12,}$/) },
  client: { client_id: expect.any(String), client_secret: expect.any(String), scopes: SCOPES },
});

/** Total of an empty table, asked for with the client that a command has just made. */
async function countItems(service: RunningCli, tenant: string, client: unknown): Promise<unknown> {
  const api = new ApiClient(service.origin, `${tenant}.localhost`);
  try {
    const credentials = {
      clientId: String(at(client, 'client_id')),
      clientSecret: String(at(client, 'client_secret')),
    };
    await api.useClientCredentials(credentials);
    return at(await api.request('GET', ITEMS), 'meta', 'total');
  } finally {
    await api.close();
  }
}

async function signIn(service: RunningCli, tenant: string, email: unknown, password: unknown): Promise<void> {
  const api = new ApiClient(service.origin, `${tenant}.localhost`);
  try {
    await api.signIn(String(email), String(password));
  } finally {
    await api.close();
  }
}

let workplace: Workplace;

beforeAll(async () => {
  workplace = await Workplace.make();
});
afterAll(() => workplace.remove());

describe('while no service runs', () => {
  it('tenant create prints tenant, admin and client as JSON', async () => {
    expect(await workplace.json(createTenant('first'))).toEqual(openedTenant('first'));
  });

  it('tenant create without --json is for people', async () => {
    const { code, stdout } = await workplace.run([...createTenant('plain'), '--admin-email', 'eva@plain.example']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/admin e-mail +eva@plain\.example\n/);
    expect(stdout).toMatch(/client secret +das_/);
  });

  it('tenant list shows the tenants', async () => {
    expect(await workplace.json(['tenant', 'list'])).toContainEqual({
      tenant: 'first',
      display_name: 'first',
      order_model: 'dyn_stock_order',
    });
    const { stdout } = await workplace.run(['tenant', 'list']);
    expect(stdout).toMatch(/^first +dyn_stock_order +first$/m);
  });

  it('what cannot be made is refused with one line and exit code 1', async () => {
    const refused: [string[], RegExp][] = [
      [createTenant('first'), /^Tenant first exists already\.\n$/],
      [createTenant('No_Host'), /^The name must be 1 to 40 lower-case letters.*\n$/],
      [[...createTenant('second'), '--admin-email', 'nobody'], /^The email field must be an e-mail address\.\n$/],
      [['client', 'create', '--tenant', 'first', '--name', 'E', '--scopes', 'all'], /must be one of read:.*\n$/],
      [createWebhook('first', 'http://erp.example/'), /^The url field .*HTTPS.*\n$/],
      [
        createWebhook('first', 'https://127.0.0.1/'),
        /^The url field must lead to a public address on an allowed port\..*\n$/,
      ],
    ];
    for (const [command, message] of refused) {
      const { code, stdout, stderr } = await workplace.run(command);
      expect(stderr).toMatch(message);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    }
    expect(await workplace.json(['tenant', 'list'])).not.toContainEqual(expect.objectContaining({ tenant: 'second' }));
  });

  it('webhook create prints id and secret, and refuses what is no text', async () => {
    const command = [...createWebhook('first', 'https://127.0.0.1/hook'), '--events', 'order.approved'];
    const made = await workplace.json([...command, '--custom-data', '{"warehouse":"north"}'], NETWORKS);
    expect(made).toEqual({ id: expect.any(String), secret: expect.stringMatching(/^whsec_/) });
    const refused = await workplace.run([...command, '--custom-data', '{"a":["\\u0000"],"\\ud800":1}'], NETWORKS);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('The custom_data.a.0 field must be well-formed Unicode text');
    expect(refused.stderr.trim().split('\n')).toHaveLength(2);
  });
});

describe('while the service runs', () => {
  let service: RunningCli;
  beforeAll(async () => {
    service = await workplace.start();
  });

  it('a tenant made now can be used at once', async () => {
    const made = await workplace.json(createTenant('later'));
    expect(made).toEqual(openedTenant('later'));
    expect(await countItems(service, 'later', at(made, 'client'))).toBe(0);
    await signIn(service, 'later', at(made, 'admin', 'email'), at(made, 'admin', 'password'));
  });

  it('an API client made now has the scopes asked for', async () => {
    const command = ['client', 'create', '--tenant', 'first', '--name', 'Reader', '--scopes', 'read:reference_data'];
    const client = await workplace.json(command);
    expect(client).toEqual({
      client_id: expect.any(String),
      client_secret: expect.any(String),
      scopes: ['read:reference_data'],
    });
    expect(await countItems(service, 'first', client)).toBe(0);
  });

  it('a user made now can sign in', async () => {
    const names = ['--first-name', 'Eva', '--last-name', 'Smit', '--roles', 'validator,auditor'];
    const made = await workplace.json([
      'user',
      'create',
      '--tenant',
      'first',
      '--email',
      'eva@first.example',
      ...names,
    ]);
    expect(made).toEqual({
      id: 2,
      email: 'eva@first.example',
      password: expect.any(String),
      roles: ['validator', 'auditor'],
    });
    await signIn(service, 'first', 'eva@first.example', at(made, 'password'));
  });

  it('a webhook can be made', async () => {
    const made = await workplace.json(createWebhook('later', 'https://127.0.0.1/hook'), NETWORKS);
    expect(made).toEqual({ id: expect.any(String), secret: expect.stringMatching(/^whsec_/) });
  });

  it('read models are listed and rebuilt', async () => {
    const reports = await workplace.json(['projections', 'rebuild']);
    expect(reports).toMatchObject([
      { projection: 'records' },
      { projection: 'order_history' },
      { projection: 'deliveries' },
      { projection: 'activity' },
    ]);
    const [report] = Array.isArray(reports) ? reports : [];
    expect(report).toEqual({
      projection: 'records',
      // Of three tenants: that they were created, and their guards.
      events: 6,
      records: 0,
      position: expect.any(Number),
      behind: 0,
      seconds: expect.any(Number),
    });
    const table = ['projections', 'rebuild', '--tenant', 'first', '--table', 'dyn_item'];
    expect(await workplace.json(table)).toMatchObject([{ projection: 'records', tenant: 'first', table: 'dyn_item' }]);

    const status = await workplace.json(['projections', 'list']);
    expect(status).toEqual(
      ['records', 'order_history', 'deliveries', 'activity'].map((name) => ({
        name,
        position: expect.any(Number),
        head: expect.any(Number),
        behind: 0,
        parked: [],
        tenantsBehind: { names: [], isAll: true },
      })),
    );
  });
});

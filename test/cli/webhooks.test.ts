import { createHmac } from 'node:crypto';
import { Receiver } from '../acceptance/receiver.js';
import { ApiClient, at } from './apiClient.js';
import { type RunningCli, Workplace } from './cli.js';

const NETWORKS = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };
const URL = 'https://127.0.0.1/hook';
const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/;
const UNKNOWN = '019aa4a5-3d51-7c3e-9d2f-6b1c0a8e4f10';

let workplace: Workplace;
let id: string;

const webhook = (command: string, ...more: string[]): string[] => ['webhook', command, '--tenant', 'acme', ...more];
const ofOne = (command: string, ...more: string[]): string[] => webhook(command, '--id', id, ...more);
const state = async (): Promise<unknown> => workplace.json(webhook('list'));

beforeAll(async () => {
  workplace = await Workplace.make();
  await workplace.json(['tenant', 'create', 'acme', '--order-model', 'dyn_stock_order']);
  const made = await workplace.json(webhook('create', '--url', URL, '--name', 'ERP'), NETWORKS);
  id = String((made as { readonly id: unknown }).id);
});
afterAll(() => workplace.remove());

const shown = (more: object) =>
  expect.arrayContaining([
    { id, name: 'ERP', url: URL, events: ['order.approved'], enabled: true, disabled: null, rotating: false, ...more },
  ]);

describe('webhook', () => {
  it.each(['list', 'rotate', 'promote', 'enable', 'disable', 'test', 'deliveries'])(
    '%s --help has an example',
    async (command) => {
      const { code, stdout } = await workplace.run(['webhook', command, '--help']);
      expect(code).toBe(0);
      expect(stdout).toContain(`Usage: dynamic-assets webhook ${command} `);
      expect(stdout).toMatch(new RegExp(`Example:\\n {2}\\$ dynamic-assets webhook ${command} --tenant`));
    },
  );

  it('list shows the webhooks of the tenant, without a secret', async () => {
    expect(await state()).toEqual(shown({}));
    const { stdout } = await workplace.run(webhook('list'));
    expect(stdout).toMatch(/^ID +STATE +NAME +URL\n/);
    expect(stdout).toMatch(new RegExp(`^${id} +enabled +ERP +${URL}$`, 'm'));
    expect(stdout).not.toMatch(/whsec|v1\./);
  });

  it('rotate shows a new secret, promote makes it the only one', async () => {
    const { stdout } = await workplace.run(ofOne('rotate'));
    expect(stdout).toMatch(/^new signing secret +whsec_\S{44}\n.*"webhook promote"\.\n$/);
    expect(await state()).toEqual(shown({ rotating: true }));
    const again = await workplace.run(ofOne('rotate'));
    expect(again).toEqual({ code: 1, stdout: '', stderr: expect.stringContaining('A rotation is under way') });
    expect((await workplace.run(ofOne('promote'))).stdout).toBe('The new secret is the only one now.\n');
    expect(await workplace.json(ofOne('rotate'))).toEqual({ id, secret: expect.stringMatching(SECRET) });
    expect(await workplace.json(ofOne('promote'))).toEqual({ id, rotating: false });
    expect(await state()).toEqual(shown({ rotating: false }));
  });

  it('disable and enable, as often as wanted', async () => {
    expect(await workplace.json(ofOne('disable', '--reason', 'Maintenance.'))).toEqual({ id, enabled: false });
    expect(await workplace.json(ofOne('disable'))).toEqual({ id, enabled: false });
    const disabled = { cause: 'admin', reason: 'Maintenance.', since: expect.any(String) };
    expect(await state()).toEqual(shown({ enabled: false, disabled }));
    const { stdout } = await workplace.run(webhook('list'));
    expect(stdout).toMatch(new RegExp(`^${id} +disabled \\(admin\\) +ERP`, 'm'));
    expect(await workplace.json(ofOne('enable'))).toEqual({ id, enabled: true });
    expect(await workplace.json(ofOne('enable'))).toEqual({ id, enabled: true });
    expect(await state()).toEqual(shown({}));
  });

  it('what cannot be done is refused with one line and exit code 1, what is not said with 2', async () => {
    const refused: [string[], number, RegExp][] = [
      [['webhook', 'list', '--tenant', 'nobody'], 2, /^There is no tenant nobody\. There is: acme\.\n$/],
      [ofOne('promote'), 1, /^No rotation is under way.*\n$/],
      [ofOne('disable', '--reason', ''), 1, /^The reason field must not be empty\.\n$/],
      ...['rotate', 'disable'].map((command): [string[], number, RegExp] => [
        webhook(command, '--id', UNKNOWN),
        1,
        /^There is no webhook .*\n$/,
      ]),
      [webhook('enable'), 2, /'--id <id>'/],
    ];
    for (const [command, expected, message] of refused) {
      const { code, stdout, stderr } = await workplace.run(command);
      expect(stderr).toMatch(message);
      expect({ code, stdout }).toEqual({ code: expected, stdout: '' });
    }
  });
});

describe('webhook test and webhook deliveries, beside a running service', () => {
  let receiver: Receiver;
  let hook: { readonly id: string; readonly secret: string };
  let environment: Record<string, string>;
  let service: RunningCli;

  beforeAll(async () => {
    receiver = await Receiver.start();
    environment = { ...NETWORKS, WEBHOOK_CA_FILE: receiver.caFile, WEBHOOK_BACKOFF_MS: '0,10', LOG_LEVEL: 'fatal' };
    const url = receiver.url('/orders?key=hidden');
    hook = Object(await workplace.json(webhook('create', '--url', url, '--name', 'Real'), environment));
    service = await workplace.start(environment);
  });
  afterAll(() => receiver.stop());

  const run = (command: string, ...more: string[]) => workplace.run(webhook(command, ...more), environment);

  it('test sends a signed example once, and says what came of it', async () => {
    receiver.reply('/orders?key=hidden', (nth) => ({ status: nth === 1 ? 204 : 503, body: nth === 1 ? '' : 'down' }));
    const { code, stdout, stderr } = await run('test', '--id', hook.id);
    expect(stdout).toMatch(/^webhook +Real, 127\.0\.0\.1:\d+\nstatus +204\ntook +\d+ ms\n$/);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [call] = await receiver.received('/orders?key=hidden', 1);
    expect(call?.headers).toMatchObject({
      signature: createHmac('sha256', hook.secret)
        .update(call?.body ?? '')
        .digest('hex'),
      'webhook-replay': 'test',
      'webhook-event': 'order.approved',
    });
    expect(Object.keys(JSON.parse(String(call?.body)))).toEqual(['validated_order', 'custom_data']);

    const failed = await run('test', '--id', hook.id, '--event', 'order.created', '--json');
    expect(JSON.parse(failed.stdout)).toEqual({
      id: hook.id,
      event: 'order.created',
      ok: false,
      status: 503,
      duration_ms: expect.any(Number),
      reason: 'HTTP 503',
      response_body: 'down',
    });
    expect(failed).toMatchObject({ code: 1, stderr: 'The webhook did not accept it: HTTP 503\n' });
    for (const each of [stdout, failed.stdout, failed.stderr]) expect(each).not.toMatch(/hidden|whsec/);
  });

  it('test tells a receiver that is not there, an unknown webhook and an unknown event', async () => {
    const gone = await run('test', '--id', id);
    expect(gone.stdout).toMatch(/^status +no answer$/m);
    expect(gone).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/nothing accepts connections|no TLS|certificate/),
    });
    expect(await run('test', '--id', UNKNOWN)).toMatchObject({ code: 1, stderr: `There is no webhook ${UNKNOWN}.\n` });
    expect(await run('test', '--id', hook.id, '--event', 'x')).toMatchObject({ code: 2, stdout: '' });
  });

  it('deliveries lists what was sent, of one webhook or all, by order and state', async () => {
    expect((await run('deliveries')).stdout).toBe('There is no such delivery.\n');
    receiver.reply('/orders?key=hidden', () => ({ status: 503 }));
    const admin = ['--tenant', 'acme', '--email', 'ada@acme.example', '--first-name', 'Ada', '--last-name', 'Smit'];
    const made = await workplace.json(['user', 'create', ...admin, '--roles', 'admin,validator']);
    const api = new ApiClient(service.origin, 'acme.localhost');
    await api.signIn('ada@acme.example', String(at(made, 'password')));
    const requested = await api.request('POST', `/api/v1/platform/webhooks/${hook.id}/test`, {
      event: 'order.approved',
    });
    await api.close();
    const failed = async () => (await run('deliveries', '--state', 'failed')).stdout;
    while (!(await failed()).includes('failed'));
    expect(await failed()).toMatch(
      /^REQUESTED +STATE +ATTEMPTS +EVENT +ABOUT +WEBHOOK +LAST\n\S+Z +failed +5 +order\.approved +- +Real +HTTP 503\n$/,
    );
    const asJson = await workplace.json(webhook('deliveries', '--id', hook.id), environment);
    const attempt = {
      status: 503,
      reason: 'HTTP 503',
      duration_ms: expect.any(Number),
      started_at: expect.any(String),
    };
    expect(asJson).toMatchObject([
      {
        id: at(requested, 'data', 'delivery_id'),
        webhook_id: hook.id,
        state: 'failed',
        attempts: Array.from({ length: 5 }, () => attempt),
      },
    ]);
    for (const nothing of [
      ['--state', 'open'],
      ['--order', UNKNOWN],
      ['--id', id],
    ]) {
      expect((await run('deliveries', ...nothing)).stdout).toBe('There is no such delivery.\n');
    }
    expect(await run('deliveries', '--id', UNKNOWN)).toMatchObject({ code: 1, stdout: '' });
    expect(await run('deliveries', '--state', 'lost')).toMatchObject({ code: 2, stdout: '' });
    expect(await run('deliveries', '--limit', '0')).toMatchObject({ code: 2, stdout: '' });
  });
});

import { Workplace } from './cli.js';

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
  it.each(['list', 'rotate', 'promote', 'enable', 'disable'])('%s --help has an example', async (command) => {
    const { code, stdout } = await workplace.run(['webhook', command, '--help']);
    expect(code).toBe(0);
    expect(stdout).toContain(`Usage: dynamic-assets webhook ${command} `);
    expect(stdout).toMatch(new RegExp(`Example:\\n {2}\\$ dynamic-assets webhook ${command} --tenant`));
  });

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

/** Webhooks of a copy are held, and what receivers are trusted by. */
import { Receiver } from '../acceptance/receiver.js';
import { ApiClient, at } from './apiClient.js';
import { type RunningCli, Workplace } from './cli.js';

const NETWORKS = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };
const webhook = (command: string, ...more: string[]): string[] => ['webhook', command, '--tenant', 'acme', ...more];

let drill: Workplace;
let made: unknown;
beforeAll(async () => {
  drill = await Workplace.make();
  made = await drill.json(['tenant', 'create', 'acme', '--order-model', 'dyn_stock_order']);
});
afterAll(() => drill.remove());

async function askForTest({ origin }: RunningCli, id: string): Promise<void> {
  const api = new ApiClient(origin, 'acme.localhost');
  await api.signIn(String(at(made, 'admin', 'email')), String(at(made, 'admin', 'password')));
  await api.request('POST', `/api/v1/platform/webhooks/${id}/test`, { event: 'order.approved' });
  await api.close();
}

test('receivers are trusted by WEBHOOK_CA_FILE, and by what Node itself was told to trust', async () => {
  const [one, other] = [await Receiver.start(), await Receiver.start('other')];
  const environment = { ...NETWORKS, WEBHOOK_CA_FILE: one.caFile, NODE_EXTRA_CA_CERTS: other.caFile };
  const service = await drill.start(environment);
  for (const receiver of [one, other]) {
    const hook = Object(await drill.json(webhook('create', '--url', receiver.url('/trust')), environment));
    await askForTest(service, hook.id);
    await receiver.received('/trust', 1);
    await receiver.stop();
  }
  await service.stop();
});

test('a restored copy sends nothing until it is told to: what is open, and what people ask for, waits', async () => {
  const receiver = await Receiver.start();
  const environment = { ...NETWORKS, WEBHOOK_CA_FILE: receiver.caFile, WEBHOOK_BACKOFF_MS: '0,10' };
  const copy = { ...environment, DATA_DIR: 'copy' };
  const hook = Object(await drill.json(webhook('create', '--url', receiver.url('/drill')), environment));
  expect(await drill.json(['webhook', 'hold'])).toEqual({ held: true });
  let original = await drill.start(environment);
  await askForTest(original, hook.id);
  await drill.json(['backup', 'kept']);
  await drill.json(['webhook', 'resume']);
  await original.stop();
  original = await drill.start(environment);
  const [first] = await receiver.received('/drill', 1);
  await original.stop();

  await drill.json(['restore', 'kept'], copy);
  const held = await drill.start(copy);
  await askForTest(held, hook.id);
  const doctor = await drill.run(['doctor'], copy);
  expect(doctor.stdout).toMatch(
    /PROBLEM {2}webhooks: Webhooks are held since \S+Z: nothing is sent\.\n.*dynamic-assets webhook resume/,
  );
  expect(await receiver.received('/drill', 1)).toHaveLength(1);
  expect(await drill.json(['webhook', 'resume'], copy)).toEqual({ held: false });
  await held.stop();
  await drill.start(copy);
  const sent = await receiver.received('/drill', 3);
  expect(sent.map(({ headers }) => headers['webhook-id'])).toContain(first?.headers['webhook-id']);

  const moved = ['migrate', '--from', 'again', '--to', 'moved'];
  await drill.json(['restore', 'kept'], { DATA_DIR: 'again' });
  await drill.json(moved);
  expect(await drill.run(['doctor'], { DATA_DIR: 'moved' })).toMatchObject({
    stdout: expect.stringContaining('PROBLEM  webhooks'),
  });
  await receiver.stop();
});

/** What a command reads of the log: of one that others write to as well, as little as it needs. */
import { z } from 'zod';
import { EventStoreDouble } from '../engines/eventStoreDouble.js';
import { type Environment, Workplace } from './cli.js';

let double: EventStoreDouble;
let workplace: Workplace;
let environment: Environment;

beforeAll(async () => {
  double = await EventStoreDouble.start();
  workplace = await Workplace.make();
  environment = { EVENTSTORE_URL: double.url, WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };
  await workplace.json(['tenant', 'create', 'acme', '--order-model', 'dyn_stock_order'], environment);
});
afterAll(async () => {
  await workplace.remove();
  await double.dispose();
});

const withId = z.object({ id: z.string() });
const user = ['--email', 'eva@acme.example', '--first-name', 'Eva', '--last-name', 'Smit'];

it('a command about one tenant goes through no log: it reads the streams of that tenant', async () => {
  const subscriptions = double.subscriptions;
  const of = ['--tenant', 'acme'];
  await workplace.json(['tenant', 'create', 'rival', '--order-model', 'dyn_stock_order'], environment);
  await workplace.json(['client', 'create', ...of, '--name', 'ERP'], environment);
  await workplace.json(['user', 'create', ...of, ...user], environment);
  const create = ['webhook', 'create', ...of, '--url', 'https://127.0.0.1/hook'];
  const { id } = withId.parse(await workplace.json(create, environment));
  await workplace.json(['webhook', 'disable', ...of, '--id', id], environment);
  expect(await workplace.json(['webhook', 'list', ...of], environment)).toMatchObject([{ id, enabled: false }]);
  expect(await workplace.json(['webhook', 'list', '--tenant', 'rival'], environment)).toEqual([]);
  expect(double.subscriptions).toBe(subscriptions);
});

it('the webhooks of a tenant that does not exist are refused', async () => {
  const { code, stderr } = await workplace.run(['webhook', 'list', '--tenant', 'nobody'], environment);
  expect({ code, stderr }).toEqual({ code: 2, stderr: 'There is no tenant nobody. There is: acme, rival.\n' });
});

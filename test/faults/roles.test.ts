/** Two processes of each role share the work; whichever is killed, the other goes on with it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addWebhook, approve, quickDelivery, reaches, validatedOrder } from '../acceptance/export.js';
import { Receiver } from '../acceptance/receiver.js';
import { Service } from '../acceptance/service.js';
import { TenantClient } from '../acceptance/tenant.js';

const ROLES = ['api', 'projector', 'webhooks'] as const;
type Role = (typeof ROLES)[number];

let receiver: Receiver;
let dataDir: string;
let processes: { readonly role: Role; readonly service: Service }[];
let clients: readonly TenantClient[];

beforeAll(async () => {
  receiver = await Receiver.start();
  dataDir = await mkdtemp(join(tmpdir(), 'dynamic-assets-'));
  const env = quickDelivery(receiver);
  const first = new Service(dataDir, env);
  const made = await first.createTenant('acme', 'dyn_stock_order');
  processes = ROLES.flatMap((role) =>
    [1, 2].map(() => ({ role, service: new Service(dataDir, env, ['--role', role]) })),
  );
  await Promise.all(processes.map(({ service }) => service.start()));
  clients = of('api').map(
    (api) => new TenantClient(api, { tenant: 'acme', admin: made.admin, client: made.client }, 'dyn_stock_order'),
  );
});

afterAll(async () => {
  await Promise.all(processes.map(({ service }) => service.stop()));
  await receiver.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const of = (role: Role): Service[] => processes.filter((each) => each.role === role).map(({ service }) => service);

let exported = 0;

/** An order goes its whole way: created and approved by one client, delivered, completed and read by the other. */
async function wholeWay(one: TenantClient, other: TenantClient): Promise<void> {
  const { order } = await validatedOrder(one);
  await approve(one, order.id);
  await receiver.received('/orders', ++exported);
  expect(receiver.calls('/orders').filter(({ body }) => body.includes(order.id))).toHaveLength(1);
  await other.update('dyn_stock_order', order.id, { processing_status: 'completed' });
  await reaches(one, order.id, 'completed');
}

it('the work is shared, also over several api processes', async () => {
  const [one, two] = clients as [TenantClient, TenantClient];
  await addWebhook(one, receiver.url('/orders'));
  await wholeWay(one, two);
  await wholeWay(two, one);
});

it.each(['projector', 'webhooks'] as const)('of two processes with the role %s either may die', async (role) => {
  const [one, two] = clients as [TenantClient, TenantClient];
  for (const service of of(role)) {
    await service.kill();
    await wholeWay(one, two);
    await service.start();
  }
  await wholeWay(two, one);
});

it('of two api processes either may die', async () => {
  const [one, two] = clients as [TenantClient, TenantClient];
  const [first, second] = of('api') as [Service, Service];
  await first.kill();
  await wholeWay(two, two);
  await first.start();
  await second.kill();
  await wholeWay(one, one);
  await second.start();
});

it('a process without the role api serves health and metrics, and nothing else', async () => {
  const [projector] = of('projector') as [Service];
  expect((await projector.send({ method: 'GET', path: '/health/ready' })).status).toBe(200);
  expect((await projector.send({ method: 'GET', path: '/metrics' })).status).toBe(200);
  expect((await projector.send({ method: 'GET', path: '/api/v1/dynamic-assets/dyn' })).status).toBe(404);
});

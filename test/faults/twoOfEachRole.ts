/** Two processes of each role share the work; if one is killed, the other goes on with it. Embedded rows have one projector. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { addWebhook, approvedOrder, quickDelivery, reaches } from '../acceptance/export.js';
import { Receiver } from '../acceptance/receiver.js';
import { Service } from '../acceptance/service.js';
import { TenantClient } from '../acceptance/tenant.js';

const ROLES = ['api', 'projector', 'webhooks'] as const;
type Role = (typeof ROLES)[number];

type SharedEngines = {
  /** Settings that name them. */
  readonly env: { readonly [name: string]: string };
  dispose(): Promise<void>;
};

/**
 * Registers the tests.
 * @param start starts what the processes share beside their data directory
 * @param projectors how many there are: one alone is started again after it was killed
 * @param takeOverMs new writes are shown at most so long after a projector was killed
 */
export function twoOfEachRole(
  start: () => Promise<SharedEngines>,
  { projectors, takeOverMs, startMs }: { projectors: 1 | 2; takeOverMs: number; startMs: number },
): void {
  let engines: SharedEngines | undefined;
  let receiver: Receiver;
  let dataDir: string;
  let processes: readonly { readonly role: Role; readonly service: Service }[] = [];
  let clients: readonly [TenantClient, TenantClient];

  beforeAll(async () => {
    [engines, receiver] = await Promise.all([start(), Receiver.start()]);
    dataDir = await mkdtemp(join(tmpdir(), 'dynamic-assets-'));
    const env = { ...quickDelivery(receiver), ...engines.env };
    const made = await new Service(dataDir, env).createTenant('acme', 'dyn_stock_order');
    processes = ROLES.flatMap((role) =>
      Array.from({ length: role === 'projector' ? projectors : 2 }, () => ({
        role,
        service: new Service(dataDir, env, ['--role', role]),
      })),
    );
    await Promise.all(processes.map(({ service }) => service.start()));
    const client = (api: Service): TenantClient =>
      new TenantClient(api, { tenant: 'acme', admin: made.admin, client: made.client }, 'dyn_stock_order');
    const [one, two] = of('api').map(client);
    if (one === undefined || two === undefined) throw new Error('Two api processes are not there.');
    clients = [one, two];
    // Its rows are made by then.
    while ((await one.getList('dyn_item')).status !== 200) await wait(50);
    await addWebhook(one, receiver.url('/orders'));
  }, startMs);

  afterAll(async () => {
    await Promise.all(processes.map(({ service }) => service.stop()));
    await receiver?.stop();
    await engines?.dispose();
    await rm(dataDir, { recursive: true, force: true });
  });

  const of = (role: Role): readonly Service[] =>
    processes.filter((each) => each.role === role).map(({ service }) => service);
  const first = (role: Role): Service => {
    const [found] = of(role);
    if (found === undefined) throw new Error(`There is no process with the role ${role}.`);
    return found;
  };

  /** An order goes its whole way: created and approved by one client, delivered, completed and read by the other. */
  async function wholeWay(one: TenantClient, other: TenantClient): Promise<void> {
    const orderId = await approvedOrder(one);
    // A worker that is killed between a delivery and its outcome leaves it to be sent once more: others are not counted.
    const calls = () => receiver.calls('/orders').filter(({ body }) => body.includes(orderId));
    while (calls().length === 0) await wait(20);
    expect(calls()).toHaveLength(1);
    await other.update('dyn_stock_order', orderId, { processing_status: 'completed' });
    await reaches(one, orderId, 'completed');
  }

  it('the work is shared, also over several api processes', async () => {
    const [one, two] = clients;
    await wholeWay(one, two);
    await wholeWay(two, one);
  });

  it('a unique key that both are given at the same time is given once', async () => {
    const item = { external_id: 'ONCE', name: 'Tea' };
    const answers = await Promise.all([...clients, ...clients].map((client) => client.postRecord('dyn_item', item)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422, 422]);
  });

  it('a projector may die: writes are taken meanwhile, and shown by the other, or when it is back', async () => {
    const [one, two] = clients;
    const readiness = async () => (await first('api').send({ method: 'GET', path: '/health/ready' })).text;
    for (const projector of of('projector')) {
      await projector.kill();
      const killedAt = performance.now();
      const { id } = await one.create('dyn_stock_order', { notes: 'no projector' });
      if (projectors === 1) {
        // Whose they are, anybody may not see.
        while (!/1 tenant is behind what was written, by up to \d+ seconds\./.test(await readiness())) await wait(50);
        expect(await readiness()).not.toContain('acme');
        await projector.start();
      }
      while ((await two.getRecord('dyn_stock_order', id)).status !== 200) await wait(50);
      expect(performance.now() - killedAt).toBeLessThan(takeOverMs);
      await wholeWay(one, two);
      if (projectors === 2) await projector.start();
    }
    await wholeWay(two, one);
    while ((await readiness()).includes('behind')) await wait(50);
  });

  it('of two webhook workers either may die', async () => {
    const [one, two] = clients;
    for (const worker of of('webhooks')) {
      await worker.kill();
      await wholeWay(one, two);
      await worker.start();
    }
    await wholeWay(two, one);
  });

  it('of two api processes either may die', async () => {
    const [one, two] = clients;
    const others = [two, one];
    for (const [index, api] of of('api').entries()) {
      await api.kill();
      const other = others[index] ?? one;
      await wholeWay(other, other);
      await api.start();
    }
  });

  it('a tenant that is deleted ends at every process; the other goes on, also where a projector dies over it', async () => {
    const [one, two] = clients;
    const gone = await first('api').createTenant('gone', 'dyn_stock_order');
    const { body } = await gone.requestToken({ grant_type: 'client_credentials', ...gone.client });
    const { access_token: token } = z.looseObject({ access_token: z.string() }).parse(body);
    await gone.create('dyn_item', { external_id: 'G1', name: 'Gone' });
    await addWebhook(gone, receiver.url('/gone'));
    expect(await first('api').cli('tenant', 'delete', 'gone', '--confirm', 'gone')).toMatchObject({ code: 0 });
    const projector = first('projector');
    await projector.kill();
    for (const api of of('api')) {
      const ask = () =>
        api.send({
          method: 'GET',
          path: '/api/v1/dynamic-assets/dyn/dyn_item/assets',
          headers: { host: `gone.localhost:${api.port}`, authorization: `Bearer ${token}` },
        });
      while ((await ask()).status !== 404) await wait(20);
    }
    if (projectors === 2) await wholeWay(one, two);
    await projector.start();
    await wholeWay(two, one);
    expect(receiver.calls('/gone')).toEqual([]);
  });

  it('all are ready soon, and none logged an error', async () => {
    for (const { service } of processes) {
      await service.becomesReady();
      expect(service.loggedErrors).toEqual([]);
    }
  });

  it.each(['projector', 'webhooks'] as const)(
    'a %s process serves health and metrics, and nothing else',
    async (role) => {
      for (const each of of(role)) {
        expect((await each.readiness()).status).toBe(200);
        expect((await each.send({ method: 'GET', path: '/metrics' })).status).toBe(200);
        expect((await each.send({ method: 'GET', path: '/api/v1/dynamic-assets/dyn' })).status).toBe(404);
      }
    },
  );
}

/** Two machines that share the event log, MongoDB and RabbitMQ, with a data directory each, are one service. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { addWebhook, approvedOrder, quickDelivery, reaches } from '../acceptance/export.js';
import type { Answer } from '../acceptance/http.js';
import { Receiver } from '../acceptance/receiver.js';
import { PATIENT, Service } from '../acceptance/service.js';
import { TenantClient } from '../acceptance/tenant.js';
import { ENGINE_START_MS } from '../engines/mongodb.js';
import { describeProductionEngines, startProductionEngines } from '../engines/productionEngines.js';

type Settings = { readonly [name: string]: string };

const SECRETS_KEY = randomBytes(32).toString('base64');

/** A read shows what another machine has answered before. */
function expectShown(answer: Answer, body: object): void {
  expect({ status: answer.status, body: answer.body }).toMatchObject({ status: 200, body });
}

const kidOf = (token: string): string => String(JSON.parse(atob(token.split('.')[0] ?? '')).kid);
const signsAt = async (client: TenantClient): Promise<string> => kidOf(await freshToken(client));

async function freshToken(client: TenantClient): Promise<string> {
  const { body } = await client.requestToken({ grant_type: 'client_credentials', ...client.client });
  return z.looseObject({ access_token: z.string() }).parse(body).access_token;
}

describeProductionEngines(() => {
  let engines: Awaited<ReturnType<typeof startProductionEngines>>;
  let receiver: Receiver;
  let directory: string;
  let machines: readonly [Service, Service];
  let one: TenantClient;
  let other: TenantClient;

  const machine = async (env: Settings, more: Settings = {}): Promise<Service> => {
    const settings = { ...PATIENT, ...quickDelivery(receiver), SECRETS_KEY, ...env, ...more };
    return new Service(await mkdtemp(join(directory, 'machine-')), settings);
  };

  beforeAll(async () => {
    [engines, receiver] = await Promise.all([startProductionEngines(), Receiver.start()]);
    directory = await mkdtemp(join(tmpdir(), 'dynamic-assets-'));
    const [first, second] = [await machine(engines.env), await machine(engines.env)];
    machines = [first, second];
    const { admin, client } = await first.createTenant('acme', 'dyn_stock_order');
    await Promise.all(machines.map((each) => each.start()));
    const at = (service: Service) => new TenantClient(service, { tenant: 'acme', admin, client }, 'dyn_stock_order');
    [one, other] = [at(first), at(second)];
    // Until then the tenant's first rows are being made, by whichever of them has its share.
    for (const each of [one, other]) while ((await each.getList('dyn_item')).status === 503) await wait(20);
  }, ENGINE_START_MS);
  afterAll(async () => {
    await Promise.all(machines.map((each) => each.stop()));
    await receiver.stop();
    await engines.dispose();
    await rm(directory, { recursive: true, force: true });
  });

  it('what one has answered, the other shows: records, orders, changes, batches, settings', async () => {
    for (let n = 0; n < 8; n += 1) {
      const [writer, reader] = n % 2 === 0 ? [one, other] : [other, one];
      const { id } = await writer.create('dyn_item', { external_id: `M${n}`, name: 'Tea' });
      expectShown(await reader.getRecord('dyn_item', id), { data: { id } });
      await writer.update('dyn_item', id, { name: 'Coffee' });
      expectShown(await reader.getList('dyn_item', { 'filter[external_id]': `M${n}` }), { data: [{ name: 'Coffee' }] });
      // What it was before: that is a change, not what the reader's own read models may still show.
      expect((await reader.putRecord('dyn_item', id, { name: 'Tea' })).status).toBe(200);
      expectShown(await writer.getRecord('dyn_item', id), { data: { name: 'Tea' } });
      const order = await writer.create('dyn_stock_order', { notes: `Order ${n}` });
      expectShown(await reader.getRecord('dyn_stock_order', order.id), { data: { notes: `Order ${n}` } });
      const line = await writer.create('dyn_order_line', { order_id: order.id, item_id: id, quantity: 1 });
      expect((await reader.putRecord('dyn_order_line', line.id, { quantity: 2 })).status).toBe(200);
      expectShown(await writer.getRecord('dyn_order_line', line.id), { data: { quantity: 2 } });
    }
    await one.platformData('POST', '/asset-types/dyn_item/fields', { name: 'colour', type: 'String' });
    const green = { external_id: 'GREEN', name: 'Tea', colour: 'green' };
    while ((await other.info('dyn_item')).text.includes('colour') === false) await wait(20);
    expect((await other.postRecord('dyn_item', green)).status).toBe(201);
    // Nothing may be decided on what this machine does not show yet.
    expect((await one.postRecord('dyn_item', green)).status).toBe(422);
    await one.batch(
      'dyn_party',
      Array.from({ length: 500 }, (_, n) => ({ external_id: `P${n}`, name: `Party ${n}` })),
    );
    expectShown(await other.getList('dyn_party', { perPage: '25' }), { meta: { total: 500 } });
  });

  it('a deleted client and an ended session are refused at the other as well, milliseconds later', async () => {
    const made = z
      .looseObject({ client_id: z.string(), client_secret: z.string() })
      .parse(await one.platformData('POST', '/api-clients', { name: 'ERP' }));
    const { body } = await other.requestToken({ grant_type: 'client_credentials', ...made });
    const { access_token: token } = z.looseObject({ access_token: z.string() }).parse(body);
    expect((await other.getList('dyn_item', '', { token })).status).toBe(200);
    await one.platform('DELETE', `/api-clients/${made.client_id}`);
    while ((await other.getList('dyn_item', '', { token })).status !== 401) await wait(20);
    const session = await one.signIn(one.admin);
    expect((await other.platform('GET', '/session', { token: session })).status).toBe(200);
    await one.platform('DELETE', '/session', { token: session });
    while ((await other.platform('GET', '/session', { token: session })).status !== 401) await wait(20);
  });

  it('each delivery is sent once', async () => {
    const webhook = await addWebhook(one, receiver.url('/orders'));
    const orders: string[] = [];
    for (const client of [one, other, one, other]) {
      const orderId = await approvedOrder(client);
      orders.push(orderId);
    }
    await receiver.received('/orders', orders.length);
    for (const id of orders) await reaches(one, id, 'submitted');
    const sent = receiver.calls('/orders').map(({ body }) => orders.find((id) => body.includes(id)));
    expect(sent.toSorted()).toEqual(orders.toSorted());
    await one.platform('DELETE', `/webhooks/${webhook.id}`);
  });

  it('a key that is rotated at one signs at both, without a restart; earlier tokens stay good, until they are revoked', async () => {
    const [first, second] = machines;
    const earlier = await freshToken(one);
    expect((await first.cli('keys', 'rotate')).code).toBe(0);
    for (const client of [one, other]) while ((await signsAt(client)) === kidOf(earlier)) await wait(20);
    const later = await freshToken(one);
    for (const client of [one, other])
      for (const token of [earlier, later]) expect((await client.getList('dyn_item', '', { token })).status).toBe(200);
    expect(await signsAt(other)).toEqual(await signsAt(one));

    expect((await second.cli('keys', 'rotate', '--revoke')).code).toBe(0);
    for (const client of [one, other])
      while ((await client.getList('dyn_item', '', { token: later })).status !== 401) await wait(20);
    const token = await freshToken(one);
    expect((await other.getList('dyn_item', '', { token })).status).toBe(200);
  });

  it.each([
    ['another SECRETS_KEY', { SECRETS_KEY: randomBytes(32).toString('base64') }],
    ['none', { SECRETS_KEY: '' }],
  ])('a machine with %s ends its start with one sentence', async (_, more) => {
    const third = await machine(engines.env, more);
    await expect(third.start()).rejects.toThrow('ended (code 1, signal null) before it listened');
    expect(third.log.trim().split('\n').at(-1)).toMatch(
      /^No key of this process opens the key that signs tokens .*SECRETS_KEY/,
    );
  });

  it('neither has logged an error', () => {
    for (const { loggedErrors } of machines) expect(loggedErrors).toEqual([]);
  });
});

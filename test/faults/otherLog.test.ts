/** A service that is given another event log than before: it is refused with what to do, or accepted when told to. */
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { addWebhook, approve, quickDelivery, validatedOrder } from '../acceptance/export.js';
import { Receiver } from '../acceptance/receiver.js';
import { Service } from '../acceptance/service.js';
import type { TenantClient } from '../acceptance/tenant.js';
import { EventStoreDouble } from '../engines/eventStoreDouble.js';
import { seenBy, totalsUntilReady } from './seenBy.js';

const EMBEDDED = { EVENTSTORE_URL: '', MONGODB_URL: '', RABBITMQ_URL: '' };
const WHAT_TO_DO = /migrate.*--accept-log/;

type Env = { readonly [name: string]: string };

const services: Service[] = [];

async function newService(env: Env = {}): Promise<Service> {
  return serviceOn(await mkdtemp(join(tmpdir(), 'other-log-')), env);
}

function serviceOn(dataDir: string, env: Env = {}, ...args: string[]): Service {
  const service = new Service(dataDir, { ...EMBEDDED, ...env }, args);
  services.push(service);
  return service;
}

afterAll(async () => {
  for (const service of services) await service.dispose();
});

/** A service that has run, and its tenant, with so many items. */
async function used(
  items: number,
  env: Env = {},
): Promise<{ readonly service: Service; readonly tenant: TenantClient }> {
  const service = await newService(env);
  const tenant = await service.createTenant('acme', 'dyn_stock_order');
  await service.start();
  await tenant.batch(
    'dyn_item',
    Array.from({ length: items }, (_, n) => ({ external_id: `A${n}`, name: `Tea ${n}` })),
  );
  await service.stop();
  return { service, tenant };
}

async function replaceLog(service: Service, by: Service): Promise<void> {
  for (const name of ['events.db-wal', 'events.db-shm']) await rm(join(service.dataDir, name), { force: true });
  await copyFile(join(by.dataDir, 'events.db'), join(service.dataDir, 'events.db'));
}

async function refusal(service: Service): Promise<string> {
  const error = await service.start().then(
    () => new Error('It started.'),
    (refused: unknown) => refused,
  );
  return String(error);
}

const deliveries = z.array(z.looseObject({ state: z.string() }));

/** Resolves when a delivery has ended: the receiver hears of it before the log does. */
async function outcomeIsStored(tenant: TenantClient, webhookId: string): Promise<void> {
  for (;;) {
    const stored = deliveries.parse(await tenant.platformData('GET', `/webhooks/${webhookId}/deliveries`));
    if (stored.some(({ state }) => state !== 'open')) return;
    await wait(20);
  }
}

test('EVENTSTORE_URL of an empty server is refused, and nothing is written there; after a migration it is taken', async () => {
  const server = await EventStoreDouble.start();
  const { service, tenant } = await used(3);
  const onServer = serviceOn(service.dataDir, { EVENTSTORE_URL: server.url, LOG_LEVEL: 'info' });
  const before = server.log.backup();
  expect(await refusal(onServer)).toMatch(/EVENTSTORE_URL is empty/);
  const made = await onServer.cli('tenant', 'create', 'other', '--order-model', 'dyn_stock_order');
  expect(made).toMatchObject({ code: 1, stderr: expect.stringMatching(WHAT_TO_DO) });
  expect(server.log.backup()).toEqual(before);

  expect(await onServer.cli('migrate', '--from', service.dataDir, '--to', server.url)).toMatchObject({ code: 0 });
  // Read models and jobs of the embedded log are still there: their positions are none of this log.
  await onServer.start();
  expect(onServer.log).toContain('several machines need MONGODB_URL');
  expect((await totalsUntilReady(onServer, seenBy(onServer, tenant))).at(-1)).toBe(3);
  await onServer.stop();
  expect(server.log.backup().filter(({ type }) => type === 'LogCreated')).toHaveLength(1);
  await server.dispose();
});

test('the log of another installation is refused with what to do, and taken with --accept-log: lists show what it holds, and what is open in it is sent', async () => {
  const receiver = await Receiver.start();
  const env = quickDelivery(receiver);
  const [{ service }, other] = [await used(3, env), await used(5, env)];
  await other.service.start();
  const { id } = await addWebhook(other.tenant, receiver.url('/hook'));
  const [sent, unsent] = [await validatedOrder(other.tenant), await validatedOrder(other.tenant)];
  await approve(other.tenant, sent.order.id);
  await receiver.received('/hook', 1);
  await outcomeIsStored(other.tenant, id);
  await other.service.stop();
  const withoutRelay = serviceOn(other.service.dataDir, {}, '--role', 'api,projector');
  await withoutRelay.start();
  await approve(seenBy(withoutRelay, other.tenant), unsent.order.id);
  await withoutRelay.stop();
  await replaceLog(service, other.service);
  // The seal of the webhook's secret.
  await copyFile(join(other.service.dataDir, 'keys/secrets.key'), join(service.dataDir, 'keys/secrets.key'));

  expect(await refusal(service)).toMatch(/is another one/);
  for (const command of [
    ['tenant', 'create', 'more', '--order-model', 'dyn_stock_order'],
    ['projections', 'rebuild'],
  ]) {
    expect(await service.cli(...command)).toMatchObject({ code: 1, stderr: expect.stringMatching(WHAT_TO_DO) });
  }

  const accepting = serviceOn(service.dataDir, env, '--accept-log');
  await accepting.start();
  expect((await totalsUntilReady(accepting, seenBy(accepting, other.tenant))).at(-1)).toBe(7);
  await receiver.received('/hook', 2);
  await accepting.stop();
  await service.start();
  await service.becomesReady();
  expect((await seenBy(service, other.tenant).list('dyn_item')).meta.total).toBe(7);
  await service.stop();
  const ids = receiver.calls('/hook').map(({ body }) => Object(Object(JSON.parse(String(body))).validated_order).id);
  expect(ids).toEqual([sent.order.id, unsent.order.id]);
  await receiver.stop();
});

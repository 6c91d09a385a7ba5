/** A service that is given another event log than before: it is refused with what to do, or accepted when told to. */
import { existsSync } from 'node:fs';
import { copyFile, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { addWebhook, approve, quickDelivery, validatedOrder } from '../acceptance/export.js';
import { Receiver } from '../acceptance/receiver.js';
import { Service } from '../acceptance/service.js';
import type { TenantClient } from '../acceptance/tenant.js';
import { describeEngine } from '../engines/describeEngine.js';
import { EventStoreDouble } from '../engines/eventStoreDouble.js';
import { anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../engines/mongodb.js';
import { anyRabbitMq, rabbitMqMissing } from '../engines/rabbitmq.js';
import { becomesReady, seenBy, totalsUntilReady } from './putBack.js';

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

type Used = { readonly service: Service; readonly tenant: TenantClient };
const installations = new Map<number, Promise<Used>>();

/** A copy of an installation on the embedded engines that has run and has so many items: the same one for the same number. */
async function copyOfUsed(items: number, env: Env = {}): Promise<Used> {
  const installation = installations.get(items) ?? used(items);
  installations.set(items, installation);
  const { service, tenant } = await installation;
  const copy = await newService(env);
  await cp(service.dataDir, copy.dataDir, { recursive: true });
  return { service: copy, tenant: seenBy(copy, tenant) };
}

/** A service that has run, and its tenant, with so many items. */
async function used(items: number, env: Env = {}): Promise<Used> {
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

/** Takes away what earlier releases did not write. */
async function asOfEarlierRelease({ dataDir }: Service): Promise<void> {
  const change = (file: string, ...statements: string[]): void => {
    const db = openSqlite(join(dataDir, file));
    for (const statement of statements) db.exec(statement);
    db.close();
  };
  await rm(join(dataDir, 'log-id'));
  const ofStream = "(SELECT stream_id FROM streams WHERE name = 'log-identity')";
  change(
    'events.db',
    `DELETE FROM events WHERE stream_id = ${ofStream}`,
    "DELETE FROM event_types WHERE type = 'LogCreated'",
  );
  change('readmodels.db', 'DROP TABLE log_anchor', 'PRAGMA user_version = 2');
  change('broker.db', 'ALTER TABLE checkpoints DROP COLUMN log', 'ALTER TABLE checkpoints DROP COLUMN event_id');
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

describe('EVENTSTORE_URL of an empty server', () => {
  let double: EventStoreDouble;
  beforeEach(async () => {
    double = await EventStoreDouble.start();
  });
  afterEach(() => double.dispose());

  /** @param prepare changes the data directory that the server is given beside */
  async function isRefused(server: EventStoreDouble, prepare: (service: Service) => Promise<void>): Promise<void> {
    const { service, tenant } = await copyOfUsed(3);
    await prepare(service);
    const onServer = serviceOn(service.dataDir, { EVENTSTORE_URL: server.url });
    const before = server.log.backup();
    expect(await refusal(onServer)).toMatch(/EVENTSTORE_URL is empty/);
    const made = await onServer.cli('tenant', 'create', 'other', '--order-model', 'dyn_stock_order');
    expect(made.code).toBe(1);
    expect(made.stderr).toMatch(WHAT_TO_DO);
    expect(server.log.backup()).toEqual(before);

    const migrated = await onServer.cli('migrate', '--from', service.dataDir, '--to', server.url);
    expect(migrated).toMatchObject({ code: 0 });
    // Read models and jobs of the embedded log are still there: their positions are none of this log.
    await onServer.start();
    expect((await totalsUntilReady(onServer, seenBy(onServer, tenant))).at(-1)).toBe(3);
    await onServer.stop();
    expect(server.log.backup().filter(({ type }) => type === 'LogCreated')).toHaveLength(1);
  }

  test('is refused beside a log with an id, or of an earlier release, and nothing is written there', async () => {
    const another = await EventStoreDouble.start();
    // Together, since each start waits until it is certain that the server lacks the positions.
    await Promise.all([isRefused(double, async () => undefined), isRefused(another, asOfEarlierRelease)]);
    await another.dispose();
  });

  test('is taken with --accept-log, and from then on without', async () => {
    const { service } = await copyOfUsed(3);
    const accepting = serviceOn(service.dataDir, { EVENTSTORE_URL: double.url }, '--accept-log');
    await accepting.start();
    await becomesReady(accepting);
    await accepting.stop();
    const onServer = serviceOn(service.dataDir, { EVENTSTORE_URL: double.url });
    const acme = await onServer.createTenant('acme', 'dyn_stock_order');
    await onServer.start();
    await acme.create('dyn_item', { external_id: 'A1', name: 'Coffee' });
    expect((await acme.list('dyn_item')).meta.total).toBe(1);
    await onServer.stop();
    expect(await refusal(serviceOn(service.dataDir))).toMatch(/is another one/);
  });
});

describe('the log of another installation', () => {
  test('is refused with what to do, also by the command line', async () => {
    const [{ service }, other] = [await copyOfUsed(3), await copyOfUsed(5)];
    await replaceLog(service, other.service);
    expect(await refusal(service)).toMatch(/is another one/);
    for (const command of [
      ['tenant', 'create', 'more', '--order-model', 'dyn_stock_order'],
      ['projections', 'rebuild'],
    ]) {
      const done = await service.cli(...command);
      expect(done.code).toBe(1);
      expect(done.stderr).toMatch(WHAT_TO_DO);
    }
  });

  test('is taken with --accept-log: lists show what it holds, and what is open in it is sent', async () => {
    const receiver = await Receiver.start();
    const env = quickDelivery(receiver);
    const [{ service }, other] = [await copyOfUsed(3, env), await copyOfUsed(5, env)];
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

    const accepting = serviceOn(service.dataDir, env, '--accept-log');
    await accepting.start();
    expect((await totalsUntilReady(accepting, seenBy(accepting, other.tenant))).at(-1)).toBe(7);
    await receiver.received('/hook', 2);
    await accepting.stop();
    await service.start();
    await becomesReady(service);
    expect((await seenBy(service, other.tenant).list('dyn_item')).meta.total).toBe(7);
    await service.stop();
    const ids = receiver.calls('/hook').map(({ body }) => Object(Object(JSON.parse(String(body))).validated_order).id);
    expect(ids).toEqual([sent.order.id, unsent.order.id]);
    await receiver.stop();
  });
});

test('a data directory of an earlier release just works, and belongs to its log from then on', async () => {
  const { service, tenant } = await copyOfUsed(3);
  await asOfEarlierRelease(service);
  await service.start();
  await becomesReady(service);
  expect((await tenant.list('dyn_item')).meta.total).toBe(3);
  await tenant.create('dyn_item', { external_id: 'B1', name: 'Coffee' });
  await service.stop();
  expect(service.log).not.toMatch(/rebuilt from it/);
  expect(existsSync(join(service.dataDir, 'log-id'))).toBe(true);
  await service.start();
  expect((await tenant.list('dyn_item')).meta.total).toBe(4);
  await service.stop();
});

describeEngine('mongodb', 'read models on MongoDB that another log made', mongoDbMissing(), () => {
  test(
    'are refused',
    async () => {
      const mongoDb = await anyMongoDb();
      const MONGODB_URL = mongoDb.freshUrl();
      const { service } = await used(3, { MONGODB_URL });
      expect(await refusal(await newService({ MONGODB_URL }))).toMatch(
        /The read models were made of another event log/,
      );
      await service.start();
      await service.stop();
      await mongoDb.dispose();
    },
    ENGINE_START_MS,
  );
});

describeEngine('rabbitmq', 'jobs on RabbitMQ that another log made', rabbitMqMissing(), () => {
  test(
    'are refused',
    async () => {
      const RABBITMQ_URL = (await anyRabbitMq()).freshUrl();
      const { service } = await used(3, { RABBITMQ_URL });
      // The relay writes its checkpoint a second after it has passed something.
      await service.start();
      await wait(3_000);
      await service.stop();
      expect(await refusal(await newService({ RABBITMQ_URL }))).toMatch(
        /The webhook jobs were made of another event log/,
      );
    },
    ENGINE_START_MS,
  );
});

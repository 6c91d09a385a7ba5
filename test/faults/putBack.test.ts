/** A log that is put back to an older copy beside everything that was made of it since. */
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { addWebhook, approve, approvedOrder, quickDelivery, reaches, validatedOrder } from '../acceptance/export.js';
import { Receiver } from '../acceptance/receiver.js';
import { Service } from '../acceptance/service.js';
import type { TenantClient } from '../acceptance/tenant.js';
import type { DoubleRecord } from '../engines/doubleLog.js';
import { EventStoreDouble } from '../engines/eventStoreDouble.js';
import { isRepetition } from '../onProductionEngines/repetition.js';
import { POLL_MS, seenBy, total, totalsUntilReady } from './seenBy.js';

const EMBEDDED = { EVENTSTORE_URL: '', MONGODB_URL: '', RABBITMQ_URL: '' };

/** The engines of one service, whose log can be put back. */
type PutBackEngines = {
  readonly dataDir: string;
  readonly env: { readonly [name: string]: string };
  /** While the service does not run. */
  backUp(): Promise<void>;
  /** Puts that backup in the log's place, while the service does not run, or on a server that it finds again. */
  putBack(): Promise<void>;
  dispose(): Promise<void>;
};

/** Longer than a delivery and its repetition would take. */
const QUIET_MS = 500;

const newDirectory = (): Promise<string> => mkdtemp(join(tmpdir(), 'put-back-'));

async function embedded(): Promise<PutBackEngines> {
  const dataDir = await newDirectory();
  const [log, backup] = [join(dataDir, 'events.db'), join(dataDir, 'backup')];
  return {
    dataDir,
    env: EMBEDDED,
    backUp: () => copyFile(log, backup),
    async putBack() {
      for (const name of ['events.db-wal', 'events.db-shm']) await rm(join(dataDir, name), { force: true });
      await copyFile(backup, log);
    },
    dispose: async () => undefined,
  };
}

async function onServer(): Promise<PutBackEngines> {
  const eventStore = await EventStoreDouble.start();
  let backup: readonly DoubleRecord[] = [];
  return {
    dataDir: await newDirectory(),
    env: { ...EMBEDDED, EVENTSTORE_URL: eventStore.url },
    async backUp() {
      backup = eventStore.log.backup();
    },
    async putBack() {
      await eventStore.kill();
      eventStore.log.restore(backup);
      await eventStore.start();
    },
    dispose: () => eventStore.dispose(),
  };
}

const items = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => ({
    external_id: `A${from + index}`,
    name: `Tea ${from + index}`,
  }));

const [title, start] = isRepetition ? ['on a double of EventStoreDB', onServer] : ['embedded', embedded];

describe(`an older copy of the log is put back: ${title}`, () => {
  let engines: PutBackEngines;
  const receiver = Receiver.ofTests();
  let service: Service;
  let acme: TenantClient;

  beforeAll(async () => {
    engines = await start();
    const env = { ...quickDelivery(receiver), ...engines.env };
    service = new Service(engines.dataDir, env);
    acme = await service.createTenant('acme', 'dyn_stock_order');
  });
  afterAll(async () => {
    await service?.dispose();
    await engines?.dispose();
  });

  test('lists show what it holds, what it lacks is free, and what it shows as sent is not sent again', async () => {
    await service.start();
    await addWebhook(acme, receiver.url('/hook'));
    await acme.batch('dyn_item', items(1, 27));
    const [sent, unsent, later] = [await validatedOrder(acme), await validatedOrder(acme), await validatedOrder(acme)];
    await approve(acme, sent.order.id);
    await receiver.received('/hook', 1);
    await wait(QUIET_MS);
    await service.stop();

    // Its approval is in the backup, and its delivery is not: nobody relays.
    const withoutRelay = new Service(engines.dataDir, engines.env, ['--role', 'api,projector']);
    await withoutRelay.start();
    await approve(seenBy(withoutRelay, acme), unsent.order.id);
    await withoutRelay.stop();
    await engines.backUp();

    await service.start();
    await receiver.received('/hook', 2);
    await acme.batch('dyn_item', items(31, 80));
    await approve(acme, later.order.id);
    await receiver.received('/hook', 3);
    expect((await acme.list('dyn_item')).meta.total).toBe(80);
    await wait(QUIET_MS);
    await service.stop();
    await engines.putBack();

    await service.start();
    const seen = await totalsUntilReady(service, acme);
    for (const each of seen) if (typeof each === 'number') expect(each).toBe(30);
    expect(seen.at(-1)).toBe(30);
    expect(service.log.match(/put back to an older copy/g)).toHaveLength(1);

    expect(await acme.create('dyn_item', { external_id: 'A50', name: 'Another' })).toMatchObject({ name: 'Another' });
    expect((await acme.postRecord('dyn_item', { external_id: 'A5', name: 'Another' })).status).toBe(422);
    expect(await acme.batch('dyn_item', items(31, 32))).toMatchObject({ created: 2 });
    expect((await acme.list('dyn_item')).meta.total).toBe(33);

    await receiver.received('/hook', 4);
    await approve(acme, later.order.id);
    await receiver.received('/hook', 5);
    await reaches(acme, later.order.id, 'submitted');
    await wait(QUIET_MS);
    const ids = receiver.calls('/hook').map(({ body }) => Object(Object(JSON.parse(String(body))).validated_order).id);
    // The last approval is another one than that which the log lacks.
    const { order } = later;
    expect(ids).toEqual([sent.order.id, unsent.order.id, order.id, unsent.order.id, order.id]);
  });

  if (!isRepetition) return;

  test('a running service notices when it finds the server again, and starts over on what the log holds', async () => {
    const { id } = await acme.create('dyn_stock_order', { issue_date: '2026-11-21', delivery_date: '2026-12-01' });
    await engines.backUp();
    await acme.batch('dyn_item', items(101, 120));
    await acme.update('dyn_stock_order', id, { customer_reference: 'later' });
    const lacked = await acme.create('dyn_stock_order', { issue_date: '2026-11-21', delivery_date: '2026-12-01' });
    const calls = receiver.calls('/hook').length;
    const seen: (number | string)[] = [await total(acme)];
    await engines.putBack();

    while (seen.at(-1) !== 33) {
      // It does not listen between its stop and its start.
      seen.push(await total(acme).catch((error: unknown) => String(error)));
      await wait(POLL_MS);
    }
    // Nothing else was ever seen, and what was put back is not seen before.
    expect(new Set(seen.filter((each) => typeof each === 'number'))).toEqual(new Set([53, 33]));
    expect(seen.lastIndexOf(53)).toBeLessThan(seen.indexOf(33));
    expect(service.log.match(/the service starts again on it/g)).toHaveLength(1);

    expect((await acme.getRecord('dyn_stock_order', lacked.id)).status).toBe(404);
    expect((await acme.putRecord('dyn_stock_order', lacked.id, { customer_reference: 'x' })).status).toBe(404);
    const changed = await acme.update('dyn_stock_order', id, { delivery_date: '2026-12-02' });
    expect(changed).toMatchObject({ customer_reference: null, delivery_date: '2026-12-02' });
    expect(await acme.batch('dyn_item', items(101, 103))).toMatchObject({ created: 3 });
    await approvedOrder(acme);
    await receiver.received('/hook', calls + 1);
    await wait(QUIET_MS);
    expect(receiver.calls('/hook')).toHaveLength(calls + 1);
  });
});

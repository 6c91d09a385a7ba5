/** MongoDB and RabbitMQ hang, or are slow, under the whole service at work. */
import { setTimeout as wait } from 'node:timers/promises';
import { approve, quickDelivery, validatedOrder, withWebhook } from '../acceptance/export.js';
import { Receiver } from '../acceptance/receiver.js';
import { type Service, startService } from '../acceptance/service.js';
import { describeEngine } from '../engines/describeEngine.js';
import { ENGINE_START_MS, MongoDbServer, mongoDbServerMissing } from '../engines/mongodb.js';
import { RabbitMqServer, rabbitMqServerMissing } from '../engines/rabbitmq.js';
import { TcpProxy } from '../engines/tcpProxy.js';
import { scaled } from '../engines/timeScale.js';
import { Load } from '../outages/load.js';

/** What memory may grow by while an engine is in trouble, in megabytes. */
const FLAT_MB = 120;
/** REQUEST_TIMEOUT_MS by default, and what a busy machine may take beside. */
const LONGEST_MS = scaled(13_000);
/** How soon writes that need the read models are back when MongoDB is; usually it takes two seconds. */
const BACK_MS = scaled(15_000);
/** FerretDB, which stands in for MongoDB, has no indexes that help. */
const PAUSE_MS = 500;
/** Longer than a request may take; with a minute memory has time to grow. */
const HANGS_MS = Number(process.env.OUTAGE_SECONDS ?? 15) * 1_000;

const missing = mongoDbServerMissing() ?? rabbitMqServerMissing();
describeEngine('mongodb', 'MongoDB and RabbitMQ in trouble', missing, () => {
  let mongoDb: MongoDbServer;
  let rabbitMq: RabbitMqServer;
  let proxies: readonly TcpProxy[];
  let receiver: Receiver;
  let service: Service;
  const acme = () => service.tenant('acme');

  beforeAll(async () => {
    [mongoDb, rabbitMq, receiver] = await Promise.all([
      MongoDbServer.start(),
      RabbitMqServer.start(),
      Receiver.start(),
    ]);
    const near = async ({ url, port }: { readonly url: string; readonly port: number }) => {
      const proxy = await TcpProxy.start(port);
      return { proxy, url: url.replace(`:${port}`, `:${proxy.port}`) };
    };
    const [records, jobs] = await Promise.all([near(mongoDb), near(rabbitMq)]);
    proxies = [records.proxy, jobs.proxy];
    const env = {
      LIST_TIMEOUT_MS: '9000',
      ...quickDelivery(receiver),
      MONGODB_URL: records.url,
      RABBITMQ_URL: jobs.url,
    };
    service = await startService({ tenants: { acme: 'dyn_stock_order' }, env });
  }, ENGINE_START_MS);
  afterAll(async () => {
    await service?.dispose();
    await Promise.all((proxies ?? []).map((proxy) => proxy.dispose()));
    await receiver?.stop();
    await Promise.all([mongoDb?.dispose(), rabbitMq?.dispose()]);
  });

  async function underLoad(): Promise<Load> {
    const { id } = await acme().create('dyn_stock_order', { notes: `known ${Date.now()}` });
    const load = new Load(service, acme(), id, PAUSE_MS);
    await load.writesAreBack();
    return load;
  }
  const answeredInTime = ({ reads, writes }: Load) =>
    expect(Math.max(...[...reads, ...writes].map(({ ms }) => ms))).toBeLessThan(LONGEST_MS);

  it('both hang: all is answered in time, memory stays flat, nothing is lost, and all is well again', async () => {
    await withWebhook(acme(), receiver, '/hangs', async () => {
      const { order } = await validatedOrder(acme());
      const load = await underLoad();
      const before = await load.memory();
      await rabbitMq.freeze();
      await approve(acme(), order.id);
      mongoDb.freeze(true);
      await wait(HANGS_MS);
      const grown = (await load.memory()) - before;
      mongoDb.freeze(false);
      await rabbitMq.thaw();
      expect(await load.writesAreBack()).toBeLessThan(BACK_MS);
      await load.end();
      await receiver.received('/hangs', 1);
      expect(grown).toBeLessThan(FLAT_MB);
      expect([...load.failedChecks]).toEqual(expect.arrayContaining(['broker', 'read_models']));
      expect([...load.failedChecks]).not.toContain('event_store');
      answeredInTime(load);
    });
  });

  it('both answer 200 ms late: nothing is refused, and webhooks go out', async () => {
    await withWebhook(acme(), receiver, '/slow', async () => {
      const { order } = await validatedOrder(acme());
      const load = await underLoad();
      const before = await load.memory();
      for (const proxy of proxies) proxy.delayAnswers(200);
      await approve(acme(), order.id);
      await wait(3_000);
      const grown = (await load.memory()) - before;
      for (const proxy of proxies) proxy.delayAnswers(0);
      expect(await load.writesAreBack()).toBeLessThan(BACK_MS);
      await load.end();
      await receiver.received('/slow', 1);
      expect(grown).toBeLessThan(FLAT_MB);
      expect(new Set([...load.reads, ...load.writes].map(({ status }) => status))).toEqual(new Set([200, 201]));
      expect([...load.failedChecks]).toEqual([]);
      answeredInTime(load);
    });
  });
});

/** The network to an engine is cut, as when a link goes down: all goes on soon afterwards, and nothing that was answered is lost. */
import { setTimeout as wait } from 'node:timers/promises';
import { addWebhook, quickDelivery, validatedOrder } from '../acceptance/export.js';
import { Receiver } from '../acceptance/receiver.js';
import { type Service, startService } from '../acceptance/service.js';
import { describeEngine } from '../engines/describeEngine.js';
import { ENGINE_START_MS } from '../engines/mongodb.js';
import { type Link, linkTo, networkLinkMissing } from '../engines/networkLink.js';
import {
  describeProductionEngines,
  type ProductionEngines,
  startProductionEngines,
} from '../engines/productionEngines.js';
import { scaled } from '../engines/timeScale.js';

const ENGINES = ['EVENTSTORE_URL', 'MONGODB_URL', 'RABBITMQ_URL'] as const;
/** Longer than a write waits for an engine. */
const CUT_MS = 8_000;
const SOON_MS = scaled(6_000);

const until = async (isDone: () => Promise<boolean>): Promise<void> => {
  while (!(await isDone())) await wait(20);
};

describeProductionEngines(() => {
  describeEngine('network', 'each across a link', networkLinkMissing(), () => {
    let engines: ProductionEngines;
    let receiver: Receiver;
    let service: Service;
    const links = new Map<string, Link>();
    let items = 0;
    const acme = () => service.tenant('acme');

    beforeAll(async () => {
      [engines, receiver] = await Promise.all([startProductionEngines(), Receiver.start()]);
      for (const engine of ENGINES) links.set(engine, await linkTo(engines.env[engine]));
      const urls = Object.fromEntries([...links].map(([engine, { url }]) => [engine, url]));
      // It finds out sooner than by default.
      const RABBITMQ_URL = `${urls.RABBITMQ_URL}&heartbeat=1`;
      const env = { ...quickDelivery(receiver), ...urls, RABBITMQ_URL };
      service = await startService({ tenants: { acme: 'dyn_stock_order' }, env });
      await service.becomesReady();
      await addWebhook(acme(), receiver.url('/cut'));
    }, ENGINE_START_MS);
    afterAll(async () => {
      await service?.dispose();
      for (const link of links.values()) await link.dispose();
      await receiver?.stop();
      await engines?.dispose();
    });

    it.each(ENGINES)('the link to the engine of %s is down for some seconds', async (engine) => {
      const calls = receiver.calls('/cut').length;
      const { order } = await validatedOrder(acme());
      let mendedAt = Number.POSITIVE_INFINITY;
      let written = 0;
      const write = async (): Promise<boolean> => {
        const item = { external_id: `${engine}-${written}`, name: 'Tea' };
        const headers = { 'idempotency-key': item.external_id };
        const { status } = await acme().postRecord('dyn_item', item, { headers });
        expect([201, 503]).toContain(status);
        if (status === 201) written += 1;
        return status === 201 && performance.now() > mendedAt;
      };
      const body = { override: true, reason: 'It follows.' };
      const approve = async (): Promise<boolean> =>
        (await acme().platform('POST', `/orders/${order.id}/approve`, { body })).status !== 503;
      links.get(engine)?.cut();
      const goingOn = Promise.all([until(write), until(approve).then(() => receiver.received('/cut', calls + 1))]);
      await wait(CUT_MS);
      links.get(engine)?.mend();
      mendedAt = performance.now();
      await goingOn;
      expect(performance.now() - mendedAt).toBeLessThan(SOON_MS);
      // With the order's.
      items += written + 1;
      await until(async () => (await acme().list('dyn_item')).meta.total === items);
    });
  });
});

/** Rows on MongoDB, and jobs on RabbitMQ, that another log made: they are refused. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addWebhook, approvedOrder, quickDelivery } from '../acceptance/export.js';
import { Receiver } from '../acceptance/receiver.js';
import { Service } from '../acceptance/service.js';
import { ENGINE_START_MS } from '../engines/mongodb.js';
import { describeProductionEngines, startProductionEngines } from '../engines/productionEngines.js';

describeProductionEngines(() => {
  test(
    'what another log made is refused',
    async () => {
      const { env, dispose } = await startProductionEngines();
      const receiver = await Receiver.start();
      const ownLog = { ...env, ...quickDelivery(receiver), EVENTSTORE_URL: '' };
      const service = async (settings: { readonly [name: string]: string }) =>
        new Service(await mkdtemp(join(tmpdir(), 'other-log-')), settings);
      const first = await service(ownLog);
      const acme = await first.createTenant('acme', 'dyn_stock_order');
      await first.start();
      // With the job is stored how far the log has been relayed.
      await addWebhook(acme, receiver.url('/hook'));
      await approvedOrder(acme);
      await receiver.received('/hook', 1);
      await first.stop();
      const [one, two] = [
        await service({ ...ownLog, RABBITMQ_URL: '' }),
        await service({ ...ownLog, MONGODB_URL: '' }),
      ];
      await expect(one.start()).rejects.toThrow(/The rows were made of another event log/);
      await expect(two.start()).rejects.toThrow(/The webhook jobs were made of another event log/);
      for (const each of [first, one, two]) await each.dispose();
      await receiver.stop();
      await dispose();
    },
    ENGINE_START_MS,
  );
});

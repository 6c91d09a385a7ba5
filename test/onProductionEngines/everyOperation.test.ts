/** The same story on EventStoreDB (a double, unless EVENTSTORE_URL names a real one), MongoDB and RabbitMQ. */
import { quickDelivery } from '../acceptance/export.js';
import { everyOperation } from '../acceptance/operationsStory.js';
import { Receiver } from '../acceptance/receiver.js';
import { type Service, startService } from '../acceptance/service.js';
import {
  describeProductionEngines,
  type ProductionEngines,
  startProductionEngines,
} from '../engines/productionEngines.js';

describeProductionEngines(() => {
  let engines: ProductionEngines | undefined;
  let receiver: Receiver | undefined;
  let service: Service | undefined;
  afterAll(async () => {
    await service?.dispose();
    await receiver?.stop();
    await engines?.dispose();
    expect(service?.loggedErrors).toEqual([]);
  });

  everyOperation(async () => {
    [engines, receiver] = await Promise.all([startProductionEngines(), Receiver.start()]);
    const env = { ...quickDelivery(receiver), ...engines.env, CHECKPOINT_MINUTES: '1' };
    service = await startService({ tenants: { acme: 'dyn_stock_order' }, env });
    return { service, receiver };
  });
});

import { everyOperation } from './operationsStory.js';
import { Receiver } from './receiver.js';
import { useService } from './useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order' } });
let receiver: Receiver | undefined;
afterAll(() => receiver?.stop());

describe('on the engines of its own', () => {
  everyOperation(async () => {
    receiver = await Receiver.start();
    return { service: run.service, receiver };
  });
});

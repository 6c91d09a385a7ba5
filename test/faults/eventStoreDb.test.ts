/** The service on EventStoreDB: over a protocol double, not a real server. */
import { setTimeout as wait } from 'node:timers/promises';
import { ApiClient, at } from '../cli/apiClient.js';
import { type RunningCli, Workplace } from '../cli/cli.js';
import { DoubleLog } from '../engines/doubleLog.js';
import { EventStoreDouble } from '../engines/eventStoreDouble.js';
import { freePort } from '../engines/freePort.js';

const ITEMS = '/api/v1/dynamic-assets/dyn/dyn_item/assets';

let workplace: Workplace;
let double: EventStoreDouble;
let service: RunningCli;
let api: ApiClient;

beforeAll(async () => {
  workplace = await Workplace.make();
  double = await EventStoreDouble.start();
  const environment = { EVENTSTORE_URL: double.url };
  const made = await workplace.json(['tenant', 'create', 'acme', '--order-model', 'dyn_stock_order'], environment);
  service = await workplace.start({ ...environment, LOG_LEVEL: 'fatal' });
  api = new ApiClient(service.origin, 'acme.localhost');
  await api.useClientCredentials({
    clientId: String(at(made, 'client', 'client_id')),
    clientSecret: String(at(made, 'client', 'client_secret')),
  });
});
afterAll(async () => {
  api.close();
  await workplace.remove();
  await double.kill();
});

const batch = (batchId: string, count: number) =>
  api.request('POST', `${ITEMS}/batch`, {
    items: Array.from({ length: count }, (_, n) => ({
      external_id: `${batchId}-${n}`,
      name: `Item ${n}`,
      _batch_id: batchId,
    })),
  });

const total = async () => at(await api.request('GET', ITEMS), 'meta', 'total');

test('a batch and a clean-up are seen by the list that follows', async () => {
  expect(at(await batch('one', 1000), 'data', 'created')).toBe(1000);
  expect(await total()).toBe(1000);
  await batch('two', 10);
  expect(
    at(await api.request('POST', `${ITEMS}/clean-up`, { batch_id: 'two', confirm: 1000 }), 'data', 'deleted'),
  ).toBe(1000);
  expect(await total()).toBe(10);
});

test('a read model is rebuilt from it', async () => {
  const reports = await workplace.json(['projections', 'rebuild'], { EVENTSTORE_URL: double.url });
  expect(reports).toMatchObject([
    { projection: 'records' },
    { projection: 'order_history' },
    { projection: 'deliveries' },
    { projection: 'activity' },
  ]);
  expect(await total()).toBe(10);
});

test('a start behind many events of others says how far it is', async () => {
  const crowded = new EventStoreDouble(new DoubleLog(100_000));
  await crowded.start();
  const place = await Workplace.make();
  const PORT = String(await freePort());
  const details = new Set<string>();
  const started = place.start({ EVENTSTORE_URL: crowded.url, PORT });
  const seen = (async () => {
    for (;;) {
      const answer = await fetch(`http://127.0.0.1:${PORT}/health/ready`).catch(() => undefined);
      if (answer?.status === 200) return;
      details.add(String(at(await answer?.json(), 'checks', 'event_store', 'detail')));
      await wait(5);
    }
  })();
  await Promise.all([started, seen]);
  expect([...details].join('\n')).toMatch(/The service starts\. The directory of tenants is at position \d+ of \d+\./);
  await place.remove();
  await crowded.dispose();
});

test('the service ends in good order', async () => {
  expect(await service.stop()).toBe(0);
});

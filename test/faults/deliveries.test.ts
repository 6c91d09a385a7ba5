/**
 * Webhooks to receivers that fail in every way, while the service (and its broker) is killed at random moments:
 * every approval is delivered at least once or fails for good after exactly five attempts (spec §6.4).
 * `npm run test:long`, or `DELIVERIES=10000 npx jest faults/deliveries`, does more; `KILLS=…` and `SEED=…` make other runs.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { addWebhook } from '../acceptance/export.js';
import { type Service, startService } from '../acceptance/service.js';
import { describeEngine } from '../engines/describeEngine.js';
import { RabbitMqServer, rabbitMqServerMissing } from '../engines/rabbitmq.js';
import { scaled } from '../engines/timeScale.js';
import { isRepetition } from '../onProductionEngines/repetition.js';
import { checkOrder, checkOutcomes } from './deliveryChecks.js';
import { DeliveryLedger, type Subscription } from './deliveryLedger.js';
import { DeliveryWork } from './deliveryWork.js';
import { seeded } from './seeded.js';
import { type UnreliablePath, UnreliableReceiver } from './unreliableReceiver.js';

const DELIVERIES = Number(process.env.DELIVERIES ?? 200);
const KILLS = Number(process.env.KILLS ?? Math.ceil(DELIVERIES / 75));
const SEED = Number(process.env.SEED ?? 1);
const LONGEST_WAIT_MS = 150;
const SETTLE_MS = 120_000;

const KINDS = ['order.created', 'order.updated', 'order.status_changed', 'order.approved', 'order.export_failed'];
const WEBHOOKS: readonly { readonly path: UnreliablePath; readonly kinds: readonly string[] }[] = [
  { path: '/steady', kinds: ['order.approved'] },
  { path: '/stubborn', kinds: ['order.approved'] },
  { path: '/erratic', kinds: KINDS },
];
/** Of an order that is created and approved. */
const DELIVERIES_PER_ORDER = 5;

type Run = {
  readonly random: () => number;
  readonly receiver: UnreliableReceiver;
  readonly service: Service;
};

async function withRun(env: { readonly [name: string]: string }, prove: (run: Run) => Promise<void>): Promise<void> {
  const random = seeded(SEED);
  const receiver = await UnreliableReceiver.start(random);
  const service = await startService({
    tenants: { acme: 'dyn_stock_order' },
    env: {
      WEBHOOK_CA_FILE: receiver.caFile,
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      WEBHOOK_BACKOFF_MS: '20,40,60,80',
      WEBHOOK_TIMEOUT_MS: '300',
      ...env,
    },
  });
  try {
    await prove({ random, receiver, service });
  } finally {
    await service.dispose();
    await receiver.stop();
  }
}

async function subscribe({ receiver, service }: Run): Promise<Subscription[]> {
  const subscriptions: Subscription[] = [];
  for (const { path, kinds } of WEBHOOKS) {
    const { id } = await addWebhook(service.tenant('acme'), receiver.url(path), { events: kinds });
    subscriptions.push({ webhookId: id, path, kinds });
  }
  return subscriptions;
}

/** Makes so many deliveries; each outage comes a random moment after its share of them has begun. */
async function deliver(
  run: Run,
  deliveries: number,
  outages: readonly (() => Promise<void>)[],
): Promise<DeliveryLedger> {
  const { random, receiver, service } = run;
  const ledger = new DeliveryLedger(await subscribe(run));
  const work = new DeliveryWork(service.tenant('acme'), receiver);
  const writing = work.run(Math.ceil(deliveries / DELIVERIES_PER_ORDER), DELIVERIES_PER_ORDER);
  const disturbing = (async () => {
    for (const [index, outage] of outages.entries()) {
      await receiver.seen(Math.floor(((index + random()) * deliveries) / outages.length));
      await wait(random() * LONGEST_WAIT_MS);
      await work.during(outage);
    }
  })();
  await Promise.all([writing, disturbing]);
  await ledger.untilSettled(service.dataDir, 'acme', SETTLE_MS);
  expect(work.approved.filter((id) => !ledger.approved.has(id))).toEqual([]);
  return ledger;
}

function check({ receiver }: Run, ledger: DeliveryLedger): void {
  checkOutcomes(ledger, receiver.calls);
  checkOrder(ledger, receiver.calls);
  const outcomes = [...ledger.deliveries.values()].map(({ ended }) => ended?.type);
  // Else the receivers were not as bad as they should have been.
  expect(new Set(outcomes)).toEqual(new Set(['DeliverySucceeded', 'DeliveryFailed']));
}

const restart = (service: Service) => () => service.restart('kill');

(isRepetition ? onRabbitMq : onEmbedded)();

function onEmbedded(): void {
  it(
    `§6.4: every approval is delivered or fails after five attempts: ${DELIVERIES} deliveries, ${KILLS} kills (seed ${SEED})`,
    () =>
      withRun({}, async (run) => {
        const kills = Array.from({ length: KILLS }, () => restart(run.service));
        check(run, await deliver(run, DELIVERIES, kills));
        expect(run.service.loggedErrors).toEqual([]);
      }),
    scaled(SETTLE_MS + 60_000 + DELIVERIES * 200 + KILLS * 10_000),
  );
}

function onRabbitMq(): void {
  describeEngine('rabbitmq', 'with RabbitMQ as the broker', rabbitMqServerMissing(), () => {
    const deliveries = Math.ceil((DELIVERIES * 2) / 3);
    let rabbitMq: RabbitMqServer;
    beforeAll(async () => {
      rabbitMq = await RabbitMqServer.start();
    });
    afterAll(() => rabbitMq.dispose());

    it(
      `§6.4: the same, while the broker is stopped and killed too (seed ${SEED})`,
      () =>
        withRun({ RABBITMQ_URL: rabbitMq.url }, async (run) => {
          const outages = [
            restart(run.service),
            () => rabbitMq.kill().then(() => rabbitMq.start()),
            restart(run.service),
            () => rabbitMq.stop().then(() => rabbitMq.start()),
            restart(run.service),
          ];
          check(run, await deliver(run, deliveries, outages));
        }),
      scaled(SETTLE_MS + 120_000 + deliveries * 200),
    );
  });
}

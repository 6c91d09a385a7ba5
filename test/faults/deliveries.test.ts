/**
 * Webhooks to receivers that fail in every way, while the service (and its broker) is killed at random moments:
 * every approval is delivered at least once or fails for good after exactly five attempts (spec §6.4).
 * `npm run test:long`, or `DELIVERIES=10000 npx jest faults/deliveries`, does more; `KILLS=…` and `SEED=…` make other runs.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { addWebhook, approve } from '../acceptance/export.js';
import { type Service, startService } from '../acceptance/service.js';
import type { TenantClient } from '../acceptance/tenant.js';
import { describeEngine } from '../engines/describeEngine.js';
import { RabbitMqServer, rabbitMqServerMissing } from '../engines/rabbitmq.js';
import { scaled } from '../engines/timeScale.js';
import { isRepetition } from '../onProductionEngines/repetition.js';
import { DeliveryLedger, type Due, type LoggedDelivery, type Subscription } from './deliveryLedger.js';
import { seeded } from './seeded.js';
import { isAnswered, type SeenCall, type UnreliablePath, UnreliableReceiver } from './unreliableReceiver.js';

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

const WRITERS = 4;
/** Writers wait while more deliveries than this are behind, so that orders are written until the end. */
const BACKLOG = 100;

/** Orders created and approved at once, however often the service dies meanwhile. */
class DeliveryWork {
  /** Orders whose approval was acknowledged. */
  readonly approved: string[] = [];
  readonly #tenant: TenantClient;
  readonly #receiver: UnreliableReceiver;
  /** Resolves when the service is up, as far as is known. */
  #up: Promise<void> = Promise.resolve();

  constructor(tenant: TenantClient, receiver: UnreliableReceiver) {
    this.#tenant = tenant;
    this.#receiver = receiver;
  }

  /** Lets the writers wait until this has come to an end. */
  async during(outage: () => Promise<void>): Promise<void> {
    const ended = outage();
    // The caller that started the outage gets its error.
    this.#up = ended.catch(() => undefined);
    await ended;
  }

  /** Resolves when so many approvals were acknowledged. @param sure the least number of deliveries for each */
  async run(approvals: number, sure: number): Promise<void> {
    const writer = async (): Promise<void> => {
      while (this.approved.length < approvals) {
        await this.#receiver.seen(this.approved.length * sure - BACKLOG);
        await this.#up;
        await this.#approveOne();
      }
    };
    await Promise.all(Array.from({ length: WRITERS }, writer));
  }

  async #approveOne(): Promise<void> {
    try {
      const order = { customer_reference: 'PO', processing_status: 'validated' };
      const { id } = await this.#tenant.create('dyn_stock_order', order);
      await approve(this.#tenant, id);
      this.approved.push(id);
    } catch (error) {
      if (error instanceof Error && error.name === 'UnexpectedAnswer') throw error;
      // The service died under it: whether the approval happened is for the log to tell.
    }
  }
}

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

const MAX_ATTEMPTS = 5;
/** The most violations that are printed. */
const SHOWN = 2;

/** The calls of each delivery as the receiver saw them. */
function byDelivery(calls: readonly SeenCall[]): Map<string, SeenCall[]> {
  const seen = new Map<string, SeenCall[]>();
  for (const call of calls) seen.set(call.deliveryId, [...(seen.get(call.deliveryId) ?? []), call]);
  return seen;
}

/** Each thing that is due led to one delivery, which was answered, or was attempted exactly five times. */
function checkOutcomes(ledger: DeliveryLedger, calls: readonly SeenCall[]): void {
  const seen = byDelivery(calls);
  const wrong: unknown[] = [];
  for (const delivery of ledger.deliveries.values()) {
    const { id, started, failed, ended } = delivery;
    const called = seen.get(id) ?? [];
    const due = ledger.due.get(delivery.due);
    const ok =
      delivery.purpose === undefined &&
      // An attempt is recorded before its call: none that the receiver saw is missing in the log.
      called.length <= started.length &&
      started.length <= MAX_ATTEMPTS &&
      called.every((call) => isOf(call, due)) &&
      new Set(called.map(({ bodyHash }) => bodyHash)).size <= 1 &&
      (ended?.type === 'DeliverySucceeded'
        ? called.some(isAnswered)
        : started.length === MAX_ATTEMPTS && failed.length === MAX_ATTEMPTS);
    if (!ok) wrong.push({ delivery, due, called });
  }
  expect(wrong.slice(0, SHOWN)).toEqual([]);
  expect([...seen.keys()].filter((id) => !ledger.deliveries.has(id))).toEqual([]);
  expect([...ledger.deliveries.values()].map(({ due }) => due).sort()).toEqual([...ledger.due.keys()].sort());
}

const isOf = (call: SeenCall, due: Due | undefined): boolean =>
  due !== undefined &&
  call.path === due.path &&
  call.kind === due.kind &&
  call.sequence === due.sourceRevision &&
  call.orderId === due.orderId;

/** A webhook gets the deliveries of one order in order: the next begins when the one before has ended. */
function checkOrder(ledger: DeliveryLedger, calls: readonly SeenCall[]): void {
  const byDue = new Map([...ledger.deliveries.values()].map((delivery) => [delivery.due, delivery]));
  const places = new Map<string, { first: number; last: number }>();
  for (const [index, { deliveryId }] of calls.entries()) {
    places.set(deliveryId, { first: places.get(deliveryId)?.first ?? index, last: index });
  }
  const before = new Map<string, LoggedDelivery>();
  const wrong: unknown[] = [];
  for (const [key, { webhookId, orderId }] of ledger.due) {
    const next = byDue.get(key);
    if (next === undefined) continue;
    const previous = before.get(`${webhookId} ${orderId}`);
    before.set(`${webhookId} ${orderId}`, next);
    if (previous === undefined) continue;
    const [begun = 0] = next.started;
    const inLog = previous.ended !== undefined && begun > previous.ended.position;
    const [earlier, later] = [places.get(previous.id), places.get(next.id)];
    const asSeen = earlier === undefined || later === undefined || earlier.last < later.first;
    if (!inLog || !asSeen) wrong.push({ previous, next, earlier, later });
  }
  expect(wrong.slice(0, SHOWN)).toEqual([]);
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

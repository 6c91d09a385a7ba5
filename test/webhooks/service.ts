/** The webhook path on real embedded adapters in one data directory, opened as by a process of the service. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { openSqliteBroker } from '#app/adapters/broker/sqlite/broker.js';
import { openSqliteEventStore } from '#app/adapters/eventstore/sqlite/store.js';
import { openSqliteReadModels } from '#app/adapters/readmodels/sqlite/store.js';
import { openSqliteReadModelWriter } from '#app/adapters/readmodels/sqlite/write/writer.js';
import { type Application, openApplication } from '#app/commands/application.js';
import { newId, now } from '#app/commands/clock.js';
import type { Caller } from '#app/commands/context.js';
import { createTenant } from '#app/commands/identity/tenants.js';
import { approveOrder } from '#app/commands/orders/lifecycle.js';
import { createWebhook, type NewWebhook } from '#app/commands/webhooks/settings.js';
import { toAppend } from '#app/commands/writeStream.js';
import { Directory } from '#app/directory/directory.js';
import { orderStream } from '#app/domain/streams.js';
import type { WebhookEventKind } from '#app/domain/webhook/events.js';
import type { RecordedEvent } from '#app/ports/eventStore.js';
import type { MessageBroker } from '#app/ports/messageBroker.js';
import type { ReadModels } from '#app/ports/readSide.js';
import { projections } from '#app/projector/projections.js';
import { runProjections } from '#app/projector/runner.js';
import { createSecretBox } from '#app/service/secretBox.js';
import { createHttpsTransport, type TransportOptions } from '#app/webhooks/httpsTransport.js';
import { startWebhooks, type WebhookDeps, type WebhookSettings } from '#app/webhooks/runWebhooks.js';
import { addressPolicy } from '#app/webhooks/targetAddress.js';

export const TENANT = 'acme';
export const SECRET_KEY = Buffer.alloc(32, 7);

const caller: Caller = {
  tenant: TENANT,
  actor: { kind: 'user', id: '1', name: 'Ada' },
  correlationId: 'test',
  causationId: 'test',
};

const approver = {
  id: 1,
  email: 'ada@example.com',
  firstName: 'Ada',
  lastName: 'Lovelace',
  locale: 'en',
  roles: ['validator'],
  passwordHash: '',
} as const;

export type WebhookOptions = { readonly events?: readonly WebhookEventKind[]; readonly now?: () => string };

export type StartOptions = Partial<WebhookSettings> & { readonly deps?: Partial<WebhookDeps> };

/** Settings of the subscriber that no test depends on. */
export const settings = {
  concurrency: 50,
  endpointConcurrency: 20,
  disableAfterHours: 0,
  version: '1.2.3',
  // Does not wait, as after a crash.
  attemptLimitMs: 0,
};

export type Service = {
  readonly commands: Application & { readonly readModels: ReadModels };
  readonly broker: MessageBroker;
  /** Starts relay and subscriber. */
  start(transport: Partial<TransportOptions>, backoffMs?: readonly number[], also?: StartOptions): void;
  /** Stops both; work in flight ends first. */
  stop(): Promise<void>;
  /** Keeps the read models current from now on. */
  project(): Promise<void>;
  createWebhook(url: string, customData?: Record<string, unknown>, also?: WebhookOptions): Promise<NewWebhook>;
  /** A validated order. */
  createOrder(fields?: Record<string, string>): Promise<string>;
  approve(orderId: string): Promise<void>;
  /** Changes a field of an order. */
  update(orderId: string, from: string, to: string): Promise<void>;
  /** The next event of the type in the order's stream, from the beginning of the log on. */
  event(type: string, orderId: string, count?: number): Promise<RecordedEvent>;
  /** The first events of the type, of any order, once there are this many. */
  events(type: string, count: number): Promise<readonly RecordedEvent[]>;
  close(): Promise<void>;
};

export const makeDataDirectory = (): Promise<string> => mkdtemp(join(tmpdir(), 'webhooks-'));
export const removeDataDirectory = (directory: string): Promise<void> =>
  rm(directory, { recursive: true, force: true });

export async function openService(directory: string, leaseMs = 60_000): Promise<Service> {
  const eventStore = await openSqliteEventStore({ file: join(directory, 'events.db') });
  const readModels = await openSqliteReadModels({ file: join(directory, 'readmodels.db'), readers: 1 });
  const broker = await openSqliteBroker({ file: join(directory, 'broker.db'), leaseMs });
  const tenants = await Directory.start(eventStore, () => undefined);
  const commands = openApplication({
    eventStore,
    readModels,
    directory: tenants,
    secretBox: createSecretBox(SECRET_KEY),
    now,
    newId,
  });
  if (tenants.tenant(TENANT) === undefined) await createTenant(commands, caller, { orderModel: 'dyn_stock_order' });
  let running: { stop(): Promise<void> } | undefined;
  const stop = async (): Promise<void> => {
    await running?.stop();
    running = undefined;
  };

  const projecting = new AbortController();
  let projected = Promise.resolve();

  const isAbout = (event: RecordedEvent, orderId: string): boolean =>
    event.stream === orderStream(TENANT, orderId) ||
    (typeof event.data === 'object' &&
      event.data !== null &&
      'orderId' in event.data &&
      event.data.orderId === orderId);

  return {
    commands,
    broker,
    start(options, backoffMs = [0, 20, 20, 20, 20], { deps, ...also } = {}) {
      const transport = createHttpsTransport({ policy: addressPolicy(['127.0.0.0/8']), ...options });
      const logger = pino({ level: 'silent' });
      const ofTest = { ...settings, backoffMs, ...also };
      const webhooks = startWebhooks({ commands, broker, transport, logger, settings: ofTest, ...deps });
      running = {
        async stop() {
          await webhooks.stop();
          await transport.close();
        },
      };
    },
    stop,
    async project() {
      const writer = await openSqliteReadModelWriter({ file: join(directory, 'readmodels.db') });
      projected = runProjections({ eventStore, writer, projections }, projecting.signal).finally(() => writer.close());
    },
    createWebhook(url, custom_data = {}, { events = ['order.approved'], now: time = now } = {}) {
      const body = { url, custom_data, events, name: 'ERP' };
      return createWebhook({ ...commands, now: time }, caller, body, async () => undefined);
    },
    async createOrder(fields = {}) {
      const id = newId();
      const data = { table: 'dyn_stock_order', fields: { customer_reference: 'PO-1', ...fields }, status: 'validated' };
      const events = toAppend(commands, caller, now(), [{ type: 'OrderCreated', data }]);
      await eventStore.append(orderStream(TENANT, id), events, 'no-stream');
      return id;
    },
    async approve(orderId) {
      await approveOrder(commands, caller, orderId, approver);
    },
    async update(orderId, from, to) {
      const data = { changes: { customer_reference: { from, to } }, status: { from: 'validated', to: 'validated' } };
      const events = toAppend(commands, caller, now(), [{ type: 'OrderChanged', data }]);
      await eventStore.append(orderStream(TENANT, orderId), events, 'any');
    },
    async event(type, orderId, count = 1) {
      const abort = new AbortController();
      let missing = count;
      const deliveries = new Set<string>();
      for await (const slice of eventStore.subscribe({ after: 0, signal: abort.signal })) {
        for (const event of slice.events) {
          // Only the first event of a delivery names its order.
          if (isAbout(event, orderId)) deliveries.add(event.stream);
          if (event.type === type && deliveries.has(event.stream) && --missing === 0) {
            abort.abort();
            return event;
          }
        }
      }
      throw new Error(`The log ended without ${type}.`);
    },
    async events(type, count) {
      const found: RecordedEvent[] = [];
      const { signal } = new AbortController();
      for await (const slice of eventStore.subscribe({ after: 0, signal })) {
        found.push(...slice.events.filter((event) => event.type === type));
        if (found.length >= count) break;
      }
      return found.slice(0, count);
    },
    async close() {
      await stop();
      projecting.abort();
      await projected;
      await broker.close();
      await tenants.stop();
      await readModels.close();
      await eventStore.close();
    },
  };
}

export const typesOf = (events: readonly RecordedEvent[]): string[] => events.map(({ type }) => type);

/** Relay and replays on real embedded adapters, with events written directly to the log. No deliveries are made. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteBroker } from '#app/adapters/broker/sqlite/broker.js';
import { openSqliteEventStore } from '#app/adapters/eventstore/sqlite/store.js';
import { type Application, openApplication } from '#app/commands/application.js';
import { newId, now } from '#app/commands/clock.js';
import type { Caller } from '#app/commands/context.js';
import { createTenant } from '#app/commands/identity/tenants.js';
import { createWebhook } from '#app/commands/webhooks/settings.js';
import { toAppend } from '#app/commands/writeStream.js';
import { deliveryStream, orderStream, parseStream, tableStream } from '#app/domain/streams.js';
import type { WebhookEventKind } from '#app/domain/webhook/catalogue.js';
import type { DeliverySubject } from '#app/domain/webhook/events.js';
import type { EventStore, RecordedEvent } from '#app/ports/eventStore.js';
import type { Message, MessageBroker } from '#app/ports/messageBroker.js';
import { Directory } from '#app/projections/directory/directory.js';
import type { Progress } from '#app/projections/progress.js';
import { DeliveryQueries } from '#app/queries/deliveries.js';
import { RecordQueries } from '#app/queries/records.js';
import { DELIVERY_QUEUE } from '#app/webhooks/queue.js';
import { runRanges } from '#app/webhooks/ranges.js';
import { runRelay } from '#app/webhooks/relay.js';
import { followLog, openRows } from '../support/followedRows.js';

export const TENANT = 'acme';
export const OTHER = 'other';

export type Data = { readonly [key: string]: unknown };
type Happened = { readonly type: string; readonly data: Data };

const SAVED = 'pending_validation';
const stays = { from: SAVED, to: SAVED };

/** Events of an order, as far as kinds and sequences depend on them. */
export const created: Happened = {
  type: 'OrderCreated',
  data: { table: 'dyn_stock_order', fields: {}, status: SAVED },
};
export const changed: Happened = { type: 'OrderEdited', data: { changes: {}, status: stays } };
export const saved: Happened = {
  type: 'OrderEdited',
  data: { added: [], status: { from: SAVED, to: 'saved' } },
};
export const approved: Happened = { type: 'OrderApproved', data: { status: { from: 'validated', to: 'submitted' } } };
export const exportFailed: Happened = {
  type: 'OrderExportFailed',
  data: { status: { from: 'submitted', to: 'failed' } },
};
export const batch: Happened = { type: 'BatchUpserted', data: { created: [], changed: [], seen: '' } };
export const cleanedUp: Happened = { type: 'TableCleanedUp', data: { batchId: 'b', deleted: 1 } };

export type Requested = DeliverySubject & { readonly deliveryId: string };

export const callerOf = (tenant: string): Caller => ({
  tenant,
  actor: { kind: 'user', id: '1', name: 'Ada' },
  correlationId: 'request',
  causationId: 'request',
});

export class Logged {
  readonly commands: Application;
  readonly broker: MessageBroker;
  readonly #directory: string;
  readonly #progress: Progress;
  readonly #tenants: Directory;
  readonly #running = new Set<{ readonly abort: AbortController; readonly ended: Promise<void> }>();

  private constructor(
    directory: string,
    commands: Logged['commands'],
    tenants: Directory,
    broker: MessageBroker,
    progress: Progress,
  ) {
    this.#progress = progress;
    this.#directory = directory;
    this.commands = commands;
    this.#tenants = tenants;
    this.broker = broker;
  }

  static async open(): Promise<Logged> {
    const directory = await mkdtemp(join(tmpdir(), 'relay-'));
    const eventStore = await openSqliteEventStore({ file: join(directory, 'events.db') });
    const broker = await openSqliteBroker({ file: join(directory, 'broker.db') });
    const tenants = await Directory.start(eventStore, () => undefined);
    const secretBox = { seal: (plain: string) => plain, open: (sealed: string) => sealed, reseal: () => undefined };
    const { rows, progress } = openRows(directory);
    const queries = { records: new RecordQueries(rows, tenants), deliveries: new DeliveryQueries(rows) };
    const ports = { eventStore, queries, rows, progress, directory: tenants, secretBox, now, newId };
    const commands = openApplication(ports);
    for (const tenant of [TENANT, OTHER]) {
      await createTenant(commands, callerOf(tenant), { orderModel: 'dyn_stock_order' });
    }
    return new Logged(directory, commands, tenants, broker, progress);
  }

  async close(): Promise<void> {
    await this.stop();
    await this.broker.close();
    await this.#tenants.stop();
    await this.commands.rows.close();
    await this.commands.eventStore.close();
    await rm(this.#directory, { recursive: true, force: true });
  }

  /** Starts a relay, by default on this log. */
  relay(
    deps: { readonly eventStore?: EventStore; readonly broker?: MessageBroker; readonly acceptLog?: boolean } = {},
  ): void {
    const { eventStore = this.commands.eventStore, broker = this.broker, acceptLog = false } = deps;
    this.run((signal) => runRelay({ commands: { ...this.commands, eventStore }, broker, acceptLog }, signal));
  }

  ranges(): void {
    this.run((signal) => runRanges({ commands: this.commands, broker: this.broker }, signal));
  }

  /** Makes rows from now on. Resolves when they are shown: those of tenants that were there before are filled first. */
  async projections(): Promise<void> {
    const { eventStore } = this.commands;
    const head = await eventStore.head();
    this.run((signal) => followLog(eventStore, this.#directory, this.#progress, signal));
    while (this.#progress.position < head || this.#progress.filling().size > 0) await new Promise(setImmediate);
  }

  run(work: (signal: AbortSignal) => Promise<void>): void {
    const abort = new AbortController();
    this.#running.add({ abort, ended: work(abort.signal) });
  }

  /** Ends everything that was started. @throws its failure */
  async stop(): Promise<void> {
    const running = [...this.#running];
    this.#running.clear();
    for (const { abort } of running) abort.abort();
    await Promise.all(running.map(({ ended }) => ended));
  }

  async webhook(events: readonly WebhookEventKind[], tenant = TENANT): Promise<string> {
    const body = { url: 'https://erp.example.com/', events };
    return (await createWebhook(this.commands, callerOf(tenant), body, async () => undefined)).id;
  }

  async append(stream: string, ...happened: readonly Happened[]): Promise<readonly RecordedEvent[]> {
    return this.appendAt(now(), stream, ...happened);
  }

  /** @param at when it happened */
  async appendAt(at: string, stream: string, ...happened: readonly Happened[]): Promise<readonly RecordedEvent[]> {
    const { eventStore } = this.commands;
    const caller = { ...callerOf(parseStream(stream).tenant) };
    const { revision } = await eventStore.append(stream, toAppend(this.commands, caller, at, happened), 'any');
    return eventStore.readStream(stream, revision - happened.length + 1);
  }

  newOrder = (tenant = TENANT): string => orderStream(tenant, newId());
  table = (tenant = TENANT): string => tableStream(tenant, 'dyn_item');

  /** One approved order with its delivery to the webhook. */
  async delivered(webhookId: string): Promise<Requested> {
    const [, approval] = await this.append(this.newOrder(), created, approved);
    const isAsked = (each: Requested): boolean => each.webhookId === webhookId && each.sourceEventId === approval?.id;
    const requests = await this.requestedOnce((found) => found.some(isAsked));
    return requests.find(isAsked) as Requested;
  }

  head(): Promise<number> {
    return this.commands.eventStore.head();
  }

  /** Deliveries in the order of their requests, once there are this many. */
  requested(count: number): Promise<readonly Requested[]> {
    return this.requestedOnce(({ length }) => length >= count);
  }

  /** Deliveries in the order of their requests, once they match. */
  async requestedOnce(asWanted: (found: readonly Requested[]) => boolean): Promise<readonly Requested[]> {
    const found: Requested[] = [];
    const { signal } = new AbortController();
    const streamPrefixes = ['delivery-'];
    for await (const { events, caughtUp } of this.commands.eventStore.subscribe({ after: 0, streamPrefixes, signal })) {
      for (const { type, data, stream } of events) {
        if (type !== 'DeliveryRequested') continue;
        found.push({ ...(data as DeliverySubject), deliveryId: parseStream(stream).rest });
      }
      if (caughtUp && asWanted(found)) return found;
    }
    throw new Error('The log has ended.');
  }

  /** Ends a delivery. */
  async end(deliveryId: string, how: 'DeliverySucceeded' | 'DeliveryFailed', tenant = TENANT): Promise<void> {
    const data =
      how === 'DeliverySucceeded' ? { attempt: 1, status: 200, durationMs: 1 } : { attempts: 5, reason: 'HTTP 500' };
    await this.append(deliveryStream(tenant, deliveryId), { type: how, data });
  }

  /** Takes this many messages off the queue. */
  async taken(count: number, queue = DELIVERY_QUEUE): Promise<readonly Message[]> {
    const messages: Message[] = [];
    const abort = new AbortController();
    await this.broker.consume(queue, { concurrency: 1, signal: abort.signal }, async ({ id, body }) => {
      messages.push({ id, body });
      if (messages.length >= count) abort.abort();
      return { kind: 'done' };
    });
    return messages;
  }

  /** Resolves when the relay has passed everything in the log. */
  async relayed(): Promise<void> {
    const head = await this.commands.eventStore.head();
    while ((await this.broker.checkpoint('approval-relay')).position < head) await new Promise(setImmediate);
  }
}

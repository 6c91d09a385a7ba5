/**
 * Disables webhooks that are gone (410) or have failed for too long. Nothing is lost: their deliveries wait. An export
 * has its five attempts first (spec §6.4): an answer of 410 disables only at a delivery's last attempt.
 */
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Commands } from '../commands/context.js';
import type { LoadedDelivery } from '../commands/webhooks/deliveryStream.js';
import { disableWebhook } from '../commands/webhooks/settings.js';
import { type AttemptResult, MAX_DELIVERY_ATTEMPTS } from '../domain/webhook/delivery.js';
import type { DisabledCause } from '../domain/webhook/events.js';
import type { Position } from '../ports/eventStore.js';

const GONE = 410;
const HOUR_MS = 3_600_000;
/** One delivery that failed for good disables nothing, however old the last success is. */
const MIN_FAILURES = 6;
/** How often the delivery log is queried about a failing webhook. */
const CHECK_EVERY_MS = 60_000;
const CHECKED_WEBHOOKS = 10_000;
const CATCH_UP_MS = 2_000;

export class ReceiverHealth {
  readonly #commands: Commands;
  readonly #logger: Logger;
  readonly #disableAfterMs: number;
  readonly #checked = new LRUCache<string, true>({ max: CHECKED_WEBHOOKS, ttl: CHECK_EVERY_MS });

  /** @param disableAfterHours hours without a success; 0 for never */
  constructor(commands: Commands, logger: Logger, disableAfterHours: number) {
    this.#commands = commands;
    this.#logger = logger;
    this.#disableAfterMs = disableAfterHours * HOUR_MS;
  }

  /**
   * Call it after the outcome of an attempt that failed was appended.
   * @param url of the attempt
   * @param failures in a row that this process saw
   */
  async failed(loaded: LoadedDelivery, url: string, { status }: AttemptResult, failures: number): Promise<void> {
    const { tenant, delivery, position } = loaded;
    const webhook = this.#commands.directory.tenant(tenant)?.webhooks.get(delivery.subject.webhookId);
    // If the URL has changed meanwhile, attempts at the new one are wanted.
    if (webhook === undefined || webhook.disabled !== undefined || webhook.url !== url) return;
    const isLast = delivery.started >= MAX_DELIVERY_ATTEMPTS;
    if (status === GONE && isLast) return this.#disable(loaded, 'gone', 'The receiver answered 410 Gone.');
    if (this.#disableAfterMs === 0 || failures < MIN_FAILURES || this.#checked.has(webhook.id)) return;
    this.#checked.set(webhook.id, true);
    const since = await this.#failingSince(tenant, webhook.id, position);
    // Changing or enabling a webhook gives it the full time again.
    const latest = Date.parse(this.#commands.now()) - this.#disableAfterMs;
    if (since === null || Date.parse(since) > latest || Date.parse(webhook.startedAt) > latest) return;
    await this.#disable(loaded, 'failing', `No attempt has succeeded since ${since}.`);
  }

  /** The first failure since the last success that any process saw; null if that cannot be known now. */
  async #failingSince(tenant: string, webhookId: string, position: Position): Promise<string | null> {
    const { queries, progress } = this.#commands;
    // A delivery log that is behind may not show the last success yet.
    if (!(await progress.waitFor(tenant, position, CATCH_UP_MS))) return null;
    return (await queries.deliveries.healthOf(tenant, webhookId)).failingSince;
  }

  async #disable({ tenant, delivery, caller }: LoadedDelivery, cause: DisabledCause, reason: string): Promise<void> {
    const { webhookId } = delivery.subject;
    await disableWebhook(this.#commands, caller, webhookId, { cause, reason });
    this.#logger.warn({ tenant, webhookId, cause, reason }, 'webhook is disabled');
  }
}

/** Disables webhooks that are gone (410) or have failed for too long. Nothing is lost: what is for them waits. */
import type { Logger } from 'pino';
import { type Commands, NotFoundError } from '../commands/context.js';
import { disableWebhook } from '../commands/webhooks/settings.js';
import { webhooksStream } from '../domain/streams.js';
import type { CallResult } from '../domain/webhook/delivery.js';
import type { DisabledCause } from '../domain/webhook/events.js';
import type { DeliveryLog } from '../ports/deliveryLog.js';
import type { RecordedEvent } from '../ports/eventStore.js';
import { ReadModelsUnavailableError } from '../ports/readModels.js';
import type { LoadedDelivery } from './deliveryLog.js';

const GONE = 410;
const HOUR_MS = 3_600_000;
/** One delivery that failed for good disables nothing, however long ago the last success was. */
const MIN_FAILURES = 6;
/** How often the delivery log is asked about a webhook that fails. */
const CHECK_EVERY_MS = 60_000;
const PROJECTION_WAIT_MS = 2_000;
/** Time counts from the last of these. */
const NEW_START = ['WebhookCreated', 'WebhookChanged', 'WebhookEnabled'];

export type HealthDeps = {
  readonly commands: Commands & { readonly readModels: DeliveryLog };
  readonly logger: Logger;
};

/** Failed attempts in a row, as this process saw them. */
type Row = { failures: number; checkAt: number };

export class EndpointHealth {
  readonly #deps: HealthDeps;
  readonly #disableAfterMs: number;
  readonly #rows = new Map<string, Row>();

  /** @param disableAfterHours without a success; 0 for never */
  constructor(deps: HealthDeps, disableAfterHours: number) {
    this.#deps = deps;
    this.#disableAfterMs = disableAfterHours * HOUR_MS;
  }

  succeeded({ delivery }: LoadedDelivery): void {
    this.#rows.delete(delivery.subject.webhookId);
  }

  /**
   * After a failed attempt was recorded.
   * @param url that was called
   */
  async failed(loaded: LoadedDelivery, url: string, result: CallResult): Promise<void> {
    const { webhookId } = loaded.delivery.subject;
    const webhook = this.#deps.commands.directory.tenant(loaded.tenant)?.webhooks.get(webhookId);
    // Whoever has changed the URL meanwhile wants the new one to be called.
    if (webhook === undefined || webhook.disabled !== undefined || webhook.url !== url) return;
    if (result.status === GONE) return this.#disable(loaded, 'gone', 'The receiver answered 410 Gone.');
    const since = await this.#failingSince(loaded);
    if (since === undefined) return;
    await this.#disable(loaded, 'failing', `No attempt has succeeded since ${since}.`);
  }

  /** Since when it has been failing, where that is too long ago; ISO 8601. */
  async #failingSince(loaded: LoadedDelivery): Promise<string | undefined> {
    const { webhookId } = loaded.delivery.subject;
    const now = Date.parse(this.#deps.commands.now());
    const row = this.#rows.get(webhookId) ?? { failures: 0, checkAt: 0 };
    this.#rows.set(webhookId, row);
    row.failures += 1;
    if (this.#disableAfterMs === 0 || row.failures < MIN_FAILURES || now < row.checkAt) return undefined;
    row.checkAt = now + CHECK_EVERY_MS;
    const since = await this.#firstFailure(loaded);
    const latest = now - this.#disableAfterMs;
    if (since === undefined || Date.parse(since) > latest) return undefined;
    // Only now: the stream is read whole.
    const start = await this.#lastStart(loaded);
    return Date.parse(start) > latest ? undefined : since;
  }

  /** The first failure since the last success that any process saw; undefined when that cannot be known now. */
  async #firstFailure({ tenant, delivery, position }: LoadedDelivery): Promise<string | undefined> {
    const { readModels } = this.#deps.commands;
    try {
      // A delivery log that is behind may not show the last success.
      if (!(await readModels.waitFor('deliveries', position, PROJECTION_WAIT_MS))) return undefined;
      const { failingSince } = await readModels.webhookHealth(tenant, delivery.subject.webhookId);
      return failingSince ?? undefined;
    } catch (error) {
      // Deliveries do not need the read models; this can wait until they are back.
      if (error instanceof ReadModelsUnavailableError) return undefined;
      throw error;
    }
  }

  /** When the webhook was made, changed or enabled last. */
  async #lastStart({ tenant, delivery }: LoadedDelivery): Promise<string> {
    const events = await this.#deps.commands.eventStore.readStream(webhooksStream(tenant));
    const isStart = ({ type, data }: RecordedEvent): boolean =>
      NEW_START.includes(type) && (data as { id: string }).id === delivery.subject.webhookId;
    return events.findLast(isStart)?.metadata.occurredAt ?? '';
  }

  async #disable({ tenant, delivery, caller }: LoadedDelivery, cause: DisabledCause, reason: string): Promise<void> {
    const { commands, logger } = this.#deps;
    const { webhookId } = delivery.subject;
    try {
      await disableWebhook(commands, caller, webhookId, { cause, reason });
      logger.warn({ tenant, webhookId, cause, reason }, 'webhook is disabled');
    } catch (error) {
      // It was removed meanwhile.
      if (!(error instanceof NotFoundError)) throw error;
    }
  }
}

/** The settings of the webhook path. */
import { type Config, version } from '../config.js';
import type { WebhookSettings } from '../webhooks/runWebhooks.js';

/** An attempt without an outcome this long after its time limit was interrupted by a crash. */
const CALL_MARGIN_MS = 5_000;

export const webhookSettings = (config: Config): WebhookSettings => ({
  concurrency: config.WEBHOOK_CONCURRENCY,
  endpointConcurrency: config.WEBHOOK_ENDPOINT_CONCURRENCY,
  disableAfterHours: config.WEBHOOK_DISABLE_AFTER_HOURS,
  backoffMs: config.WEBHOOK_BACKOFF_MS,
  version: version(),
  attemptLimitMs: config.WEBHOOK_TIMEOUT_MS + CALL_MARGIN_MS,
});

/** What the parts of the service are given of the settings. */
import type { ListLimits } from '../api/admission.js';
import { type Config, version } from '../config.js';
import type { Quotas } from '../domain/quotas.js';
import type { WebhookSettings } from '../webhooks/runWebhooks.js';
import { READER_THREADS } from './engines.js';

/** An attempt without an outcome this long after its time limit was interrupted by a crash. */
const CALL_MARGIN_MS = 5_000;

export const webhookSettings = (config: Config): WebhookSettings => ({
  concurrency: config.WEBHOOK_CONCURRENCY,
  backoffMs: config.WEBHOOK_BACKOFF_MS,
  version: version(),
  attemptLimitMs: config.WEBHOOK_TIMEOUT_MS + CALL_MARGIN_MS,
});

/** Embedded rows have one thread more than one tenant may use; MongoDB has its own threads. */
export const listLimits = ({ MONGODB_URL }: Config): ListLimits =>
  MONGODB_URL === undefined ? { atOnce: READER_THREADS + 1, ofGroup: READER_THREADS } : { atOnce: 32, ofGroup: 8 };

/** The installation's quotas. */
export const quotasOf = (config: Config): Quotas => ({
  logBytes: config.QUOTA_LOG_BYTES,
  records: config.QUOTA_RECORDS,
});

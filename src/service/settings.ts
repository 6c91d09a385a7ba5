/** What the parts of the service are given of the settings. */
import type { ApiConfig } from '../api/deps.js';
import { type Config, version } from '../config.js';
import type { Quotas } from '../domain/quotas.js';
import type { WebhookSettings } from '../webhooks/runWebhooks.js';

/** An attempt without an outcome this long after its time limit was interrupted by a crash. */
const CALL_MARGIN_MS = 5_000;

export const webhookSettings = (config: Config): WebhookSettings => ({
  concurrency: config.WEBHOOK_CONCURRENCY,
  backoffMs: config.WEBHOOK_BACKOFF_MS,
  version: version(),
  attemptLimitMs: config.WEBHOOK_TIMEOUT_MS + CALL_MARGIN_MS,
});

/** Concurrent lists on MongoDB, which has its own threads. */
const MONGODB_LISTS = { atOnce: 32, ofOneTenant: 8 };

export const apiConfig = (config: Config): ApiConfig => ({
  release: version(),
  baseHost: config.BASE_HOST,
  operatorHost: config.OPERATOR_HOST,
  ...(config.DEFAULT_TENANT === undefined ? {} : { defaultTenant: config.DEFAULT_TENANT }),
  trustProxy: config.TRUST_PROXY,
  corsOrigins: config.CORS_ORIGINS,
  ...(config.METRICS_TOKEN === undefined ? {} : { metricsToken: config.METRICS_TOKEN }),
  bodyLimitBytes: config.BODY_LIMIT_BYTES,
  rateLimit: {
    perSecond: config.RATE_LIMIT_PER_SECOND,
    burst: 2 * config.RATE_LIMIT_PER_SECOND,
  },
  requestsInFlight: config.REQUESTS_IN_FLIGHT,
  signInsPerHour: config.SIGN_INS_PER_HOUR,
  requestTimeoutMs: config.REQUEST_TIMEOUT_MS,
  projectionWaitMs: config.WRITE_WAIT_MS,
  lists: { ...listsAtOnce(config), timeoutMs: config.LIST_TIMEOUT_MS },
});

/** Embedded rows have one thread more than one tenant may use. */
const listsAtOnce = (config: Config) =>
  config.MONGODB_URL === undefined
    ? { atOnce: config.READER_THREADS + 1, ofOneTenant: config.READER_THREADS }
    : MONGODB_LISTS;

/** The installation's quotas. */
export const quotasOf = (config: Config): Quotas => ({
  logBytes: config.QUOTA_LOG_BYTES,
  records: config.QUOTA_RECORDS,
});

/**
 * The route table: every operation of the service. The router and the OpenAPI document are made from it, so they always
 * agree.
 */
import { changes } from './assets/changes.js';
import { orderHistory } from './assets/history.js';
import { ASSETS_PATH, assetInfo } from './assets/info.js';
import { operations } from './assets/operations.js';
import { records } from './assets/records.js';
import { synchronization } from './assets/synchronize.js';
import { syncs } from './assets/syncs.js';
import { authenticateClient } from './auth/bearer.js';
import { discovery } from './auth/discovery.js';
import { forbidCaching, oauthErrorHandler, tokenEndpoint } from './auth/tokenEndpoint.js';
import { docs, home } from './docs.js';
import { health } from './health.js';
import { openApi } from './openapi/document.js';
import { apiClients } from './platform/apiClients.js';
import { approvals } from './platform/approvals.js';
import { orders } from './platform/orders.js';
import { session } from './platform/session.js';
import { settings } from './platform/settings.js';
import { authenticateUser } from './platform/signedIn.js';
import { tableSyncs, tables } from './platform/tables.js';
import { users } from './platform/users.js';
import { webhookDeliveries } from './platform/webhookDeliveries.js';
import { webhookEvents, webhooks } from './platform/webhooks.js';
import { countingRefusals, limitCaller, limitNetwork } from './rateLimit.js';
import type { Area, Check } from './routes/operation.js';
import { resolveTenant } from './tenantHost.js';

const PLATFORM_PATH = '/api/v1/platform';

/** Orders, personal data and secrets must not be cached. */
const forbidStoring: Check = (_api, _req, res) => {
  res.setHeader('Cache-Control', 'no-store');
};

/** Error answers of operations that need a tenant and the engines. */
const COMMON_ERRORS = [404, 429, 500, 503] as const;

/** Needs neither tenant nor token. */
export const healthArea: Area = { prefix: '', checks: [], errors: [500], resources: [health] };

/** The first matching path wins. */
export const areas: readonly Area[] = [
  {
    prefix: ASSETS_PATH,
    checks: [resolveTenant, countingRefusals(authenticateClient), limitCaller],
    errors: COMMON_ERRORS,
    // Batch and clean-up come before `:id`, which would match them. The most frequent operations come first.
    resources: [synchronization, records, assetInfo, operations, syncs, changes, orderHistory],
  },
  // Before the rest of the platform: signing in needs no session.
  { prefix: PLATFORM_PATH, checks: [forbidStoring, resolveTenant], errors: COMMON_ERRORS, resources: [session] },
  {
    prefix: PLATFORM_PATH,
    checks: [countingRefusals(authenticateUser), limitCaller],
    errors: COMMON_ERRORS,
    // Approvals come before `:id`, which would match them.
    resources: [
      approvals,
      orders,
      tables,
      tableSyncs,
      apiClients,
      webhooks,
      webhookDeliveries,
      webhookEvents,
      users,
      settings,
    ],
  },
  {
    prefix: '/oauth',
    checks: [forbidCaching, limitNetwork, resolveTenant],
    errors: COMMON_ERRORS,
    resources: [tokenEndpoint],
    onError: oauthErrorHandler,
  },
  { prefix: '/.well-known', checks: [limitNetwork], errors: [429, 500, 503], resources: [discovery] },
  { prefix: '/docs', checks: [limitNetwork], errors: [429, 500, 503], resources: [docs] },
  { prefix: '', checks: [], errors: [429, 500, 503], resources: [openApi, home] },
  healthArea,
];

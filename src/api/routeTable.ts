/**
 * The route table: every operation of the service. The router and the OpenAPI document are made from it, so they always
 * agree.
 */
import { activity, clientActivity } from './activity.js';
import { changes } from './assets/changes.js';
import { compare } from './assets/compare.js';
import { history } from './assets/history.js';
import { ASSETS_PATH, assetInfo } from './assets/info.js';
import { records } from './assets/records.js';
import { clientReplay } from './assets/replay.js';
import { synchronization } from './assets/synchronize.js';
import { tableOperations } from './assets/tableOperations.js';
import { authenticateClient, authenticateUser } from './auth/principal.js';
import { discovery, forbidCaching, oauthErrorHandler, tokenEndpoint } from './auth/tokenEndpoint.js';
import type { Audience } from './deps.js';
import { health } from './health.js';
import { openApi } from './openapi/document.js';
import { installation } from './operator/installation.js';
import { operatorLog } from './operator/log.js';
import { operatorProjections } from './operator/projections.js';
import { authenticateOperator, operatorSessions } from './operator/session.js';
import { operatorTenants } from './operator/tenants.js';
import { consolePages, docs, home } from './pages.js';
import { apiClients } from './platform/apiClients.js';
import { audit } from './platform/audit.js';
import { orders } from './platform/orders.js';
import { session } from './platform/session.js';
import { settings } from './platform/settings.js';
import { tables } from './platform/tables.js';
import { users } from './platform/users.js';
import { webhooks } from './platform/webhooks.js';
import { countingRefusals, limitCaller, limitNetwork } from './rateLimit.js';
import type { Area, Check } from './routes/operation.js';
import { atOperatorHost, resolveTenant } from './tenantHost.js';

/** Orders, personal data and secrets must not be cached. */
const forbidStoring: Check = (_api, _req, res) => {
  res.setHeader('Cache-Control', 'no-store');
};

/** Needs neither tenant nor token. */
export const healthArea: Area = { prefix: '', checks: [], resources: [health] };

/** At the operator's host alone; elsewhere they are 404 like any unknown path. */
const operatorArea: Area = {
  prefix: '/api/v1/operator',
  name: 'operator',
  checks: [atOperatorHost, forbidStoring, limitNetwork],
  resources: [operatorSessions],
  signedIn: {
    checks: [countingRefusals(authenticateOperator)],
    resources: [installation, operatorTenants, operatorProjections, operatorLog],
  },
};

/** In any order: a path belongs to one of them. */
export const areas: readonly Area[] = [
  {
    prefix: ASSETS_PATH,
    checks: [resolveTenant, countingRefusals(authenticateClient), limitCaller],
    // Batch and clean-up come before `:id`, which would match them. The most frequent operations come first.
    resources: [
      synchronization,
      records,
      assetInfo,
      tableOperations,
      changes,
      compare,
      history,
      clientReplay,
      clientActivity,
    ],
  },
  {
    prefix: '/api/v1/platform',
    name: 'platform',
    checks: [forbidStoring, resolveTenant],
    resources: [session],
    signedIn: {
      checks: [countingRefusals(authenticateUser), limitCaller],
      // Counts come before `:id`, which would match them.
      resources: [orders, ...tables, apiClients, webhooks, users, settings, activity, audit],
    },
  },
  {
    prefix: '/oauth',
    checks: [forbidCaching, limitNetwork, resolveTenant],
    resources: [tokenEndpoint],
    onError: oauthErrorHandler,
  },
  operatorArea,
  { prefix: '/.well-known', checks: [limitNetwork], resources: [discovery] },
  { prefix: '/console', checks: [limitNetwork], resources: [consolePages] },
  { prefix: '/docs', checks: [limitNetwork], resources: [docs] },
  { prefix: '', checks: [], resources: [openApi, home] },
  healthArea,
];

const clientAreas = areas.filter(({ prefix }) => [ASSETS_PATH, '/oauth'].includes(prefix));

/** What each OpenAPI document describes. */
export const areasOf: { readonly [of in Audience]: readonly Area[] } = {
  clients: clientAreas,
  people: areas.filter((area) => ![...clientAreas, operatorArea].includes(area)),
  operators: [operatorArea],
};

/** The tenants of the installation: `/api/v1/operator/tenants`. */
import { z } from 'zod';
import { parseBody, shortText } from '../../commands/body.js';
import { openTenant } from '../../commands/identity/tenants.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { ORDER_MODELS } from '../../domain/identity/events.js';
import { MAX_SHORT_PAGE, MAX_STRING_LENGTH } from '../../domain/limits.js';
import { QUOTA_NAMES, QUOTAS } from '../../domain/quotas.js';
import { nextLink } from '../assets/pages.js';
import type { Api } from '../deps.js';
import { notFound } from '../errors.js';
import * as json from '../openapi/schema.js';
import { type Call, dataReply, type Reply, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { parkedView } from './projections.js';
import { operatorsCaller } from './session.js';

const searchText = z.string().max(MAX_STRING_LENGTH, `must be at most ${MAX_STRING_LENGTH} characters.`).optional();
/** `after`: the name of the last tenant of the page before. */
const pageQuery = z.strictObject({ search: searchText, after: searchText });

export const pageReply = (api: Api, call: Call, data: readonly unknown[], next?: string | number): Reply => ({
  body: JSON.stringify({ data, links: { next: nextLink(api, call, next, 'after') } }),
});

const newTenantBody = z.strictObject({
  name: shortText,
  order_model: z.enum(ORDER_MODELS, `must be one of ${ORDER_MODELS.join(', ')}.`),
  display_name: shortText.optional(),
  admin_email: shortText.check(z.email('must be an e-mail address.')).optional(),
});

async function shown({ operator, usage, progress }: Api, tenant: Tenant) {
  const { name } = tenant;
  const used = await usage.used(name);
  return {
    name,
    display_name: tenant.displayName,
    order_model: tenant.orderModel,
    parked: operator.parked().flatMap((each) => (each.tenant === name ? [parkedView.show(each)] : [])),
    filling: progress.filling().has(name),
    behind_seconds: progress.staleness(name) ?? 0,
    log_bytes: used?.logBytes ?? 0,
    records: used?.records ?? null,
    quotas: QUOTA_NAMES.map((quota) => {
      const limit = usage.limit(tenant, quota);
      return { quota: QUOTAS[quota].name, used: usage.known(name)?.[quota] ?? null, limit };
    }),
    tables: [...tenant.assetTypes.keys()],
    users: tenant.users.size,
    clients: tenant.clients.size,
    webhooks: tenant.webhooks.size,
  };
}

export const operatorTenants: Resource = {
  tag: 'operator: tenants',
  pathParameters: { id: { name: 'tenant', in: 'path', required: true, schema: json.text } },
  schemas: {
    OperatorTenant: json.closedObject({
      name: json.text,
      display_name: json.text,
      order_model: json.oneOf(ORDER_MODELS),
      parked: json.listOf(json.ref('Parked')),
      filling: json.truth,
      behind_seconds: json.count,
      log_bytes: json.count,
      records: { type: ['integer', 'null'], description: 'Null while the rows cannot be read.' },
      quotas: json.listOf(json.ref('TenantQuota')),
      tables: json.listOf(json.text),
      users: json.count,
      clients: json.count,
      webhooks: json.count,
    }),
    TenantQuota: json.closedObject({ quota: json.text, used: { type: ['integer', 'null'] }, limit: json.count }),
    OpenedTenant: json.closedObject({
      admin: json.closedObject({ email: json.text, password: json.text }),
      client: json.closedObject({ client_id: json.text, client_secret: json.text, scopes: json.listOf(json.text) }),
    }),
  },
  operations: {
    'GET /tenants': {
      id: 'operatorListTenants',
      allow: 'operators',
      work: 'costly',
      query: parametersIn(pageQuery),
      answer: json.linkedPage('OperatorTenant', MAX_SHORT_PAGE),
      async handle(api, call) {
        const { search = '', after = '' } = parseQuery(pageQuery, call.query);
        const wanted = search.toLowerCase();
        const found = [...api.directory.tenants()]
          .filter(({ name, displayName }) => `${name}\n${displayName.toLowerCase()}`.includes(wanted))
          .filter(({ name }) => name > after)
          .sort((a, b) => (a.name < b.name ? -1 : 1));
        const entries = found.slice(0, MAX_SHORT_PAGE);
        const next = found.length > entries.length ? entries.at(-1)?.name : undefined;
        return pageReply(api, call, await Promise.all(entries.map((tenant) => shown(api, tenant))), next);
      },
    },
    'POST /tenants': {
      id: 'operatorOpenTenant',
      allow: 'operators',
      body: json.bodyOf(newTenantBody, { name: 'acme', order_model: 'dyn_stock_order' }),
      status: 201,
      answer: json.one('OpenedTenant', 'The first admin and API client, whose secrets are shown only here.'),
      async handle(api, { req, body, operator }) {
        const given = parseBody(newTenantBody, body);
        const opening = {
          orderModel: given.order_model,
          displayName: given.display_name,
          adminEmail: given.admin_email,
        };
        return dataReply(await openTenant(api.commands, operatorsCaller(req, operator, given.name), opening));
      },
    },
    'GET /tenants/:id': {
      id: 'operatorGetTenant',
      allow: 'operators',
      work: 'costly',
      answer: json.one('OperatorTenant'),
      async handle(api, { path }) {
        const tenant = api.directory.tenant(path.id);
        if (tenant === undefined) throw notFound(`There is no tenant ${path.id}.`);
        return dataReply(await shown(api, tenant));
      },
    },
  },
};

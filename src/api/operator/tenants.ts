/** The tenants of the installation: `/api/v1/operator/tenants`. */
import { z } from 'zod';
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
import type { Used } from '../tenantUsage.js';
import type { ParkedView } from './parts.js';
import { parkedView } from './projections.js';

const shortText = z.string().max(MAX_STRING_LENGTH, `must be at most ${MAX_STRING_LENGTH} characters.`).optional();
/** `after`: the name of the last tenant of the page before. */
const pageQuery = z.strictObject({ search: shortText, after: shortText });

export const pageReply = (
  api: Api,
  call: Call,
  data: readonly unknown[],
  next: string | number | undefined,
): Reply => ({
  body: JSON.stringify({ data, links: { next: nextLink(api, call, next, 'after') } }),
});

type Seen = {
  readonly tenant: Tenant;
  readonly parked: readonly ParkedView[];
  readonly isFilling: boolean;
  readonly behind: number;
  /** Undefined while the rows cannot be read. */
  readonly used: Used | undefined;
  readonly quotas: readonly QuotaUse[];
};

type QuotaUse = { readonly quota: string; readonly used: number | null; readonly limit: number };

const quotaUse = json.closedObject({
  quota: json.text,
  used: { type: ['integer', 'null'] },
  limit: json.count,
});

const tenantView = json.view<Seen>({
  name: [json.text, ({ tenant }) => tenant.name],
  display_name: [json.text, ({ tenant }) => tenant.displayName],
  order_model: [json.oneOf(ORDER_MODELS), ({ tenant }) => tenant.orderModel],
  parked: [json.listOf(json.ref('Parked')), ({ parked }) => parked.map(parkedView.show)],
  filling: [{ type: 'boolean' }, ({ isFilling }) => isFilling],
  behind_seconds: [json.count, ({ behind }) => behind],
  log_bytes: [json.count, ({ used }) => used?.logBytes ?? 0],
  records: [{ type: ['integer', 'null'] }, ({ used }) => used?.records ?? null],
  quotas: json.listOf(json.ref('TenantQuota')),
  tables: [json.listOf(json.text), ({ tenant }) => [...tenant.assetTypes.keys()]],
  users: [json.count, ({ tenant }) => tenant.users.size],
  clients: [json.count, ({ tenant }) => tenant.clients.size],
  webhooks: [json.count, ({ tenant }) => tenant.webhooks.size],
});

export const operatorTenants: Resource = {
  tag: 'operator: tenants',
  pathParameters: { id: { name: 'tenant', in: 'path', required: true, schema: json.text } },
  schemas: { OperatorTenant: tenantView.schema, TenantQuota: quotaUse },
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
        return pageReply(api, call, (await seen(api, entries)).map(tenantView.show), next);
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
        const [found] = await seen(api, [tenant]);
        if (found === undefined) throw notFound(`There is no tenant ${path.id}.`);
        return dataReply(tenantView.show(found));
      },
    },
  },
};

async function seen(api: Api, tenants: readonly Tenant[]): Promise<readonly Seen[]> {
  const { operator, usage, progress } = api;
  const parked = operator.parked();
  return Promise.all(
    tenants.map(async (tenant) => ({
      tenant,
      parked: parked.filter((each) => each.tenant === tenant.name),
      isFilling: progress.filling().has(tenant.name),
      behind: progress.staleness(tenant.name) ?? 0,
      used: await usage.used(tenant.name),
      quotas: QUOTA_NAMES.map((quota) => {
        const used = usage.known(tenant.name)?.[quota] ?? null;
        return { quota: QUOTAS[quota].name, used, limit: usage.limit(tenant, quota) };
      }),
    })),
  );
}

/** The tenants of the installation: `/api/v1/operator/tenants`. */
import { z } from 'zod';
import { parseBody, shortText } from '../../commands/body.js';
import { openTenant } from '../../commands/identity/tenants.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { ORDER_MODELS } from '../../domain/identity/events.js';
import { MAX_SHORT_PAGE } from '../../domain/limits.js';
import { linkedReply } from '../assets/pages.js';
import type { Api, ParkedView } from '../deps.js';
import { notFound } from '../errors.js';
import * as json from '../openapi/schema.js';
import { type QuotaUses, quotaUses } from '../quotas.js';
import { dataReply, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { parkedView } from './projections.js';
import { operatorsCaller } from './session.js';

/** `cursor`: the name of the last tenant of the page before. */
const pageQuery = z.strictObject({ search: shortText.optional(), cursor: shortText.optional() });

const newTenantBody = z.strictObject({
  name: shortText,
  order_model: z.enum(ORDER_MODELS, `must be one of ${ORDER_MODELS.join(', ')}.`),
  display_name: shortText.optional(),
  admin_email: shortText.check(z.email('must be an e-mail address.')).optional(),
});

type ShownTenant = Tenant & {
  readonly parked: readonly ParkedView[];
  readonly filling: boolean;
  readonly behindSeconds: number;
  readonly quotaUses: QuotaUses;
};

const tenantView = json.view<ShownTenant>({
  name: json.text,
  display_name: json.text,
  order_model: json.oneOf(ORDER_MODELS),
  parked: [json.listOf(json.ref('Parked')), ({ parked }) => parked.map(parkedView.show)],
  filling: json.truth,
  behind_seconds: json.count,
  quotas: [json.ref('Quotas'), ({ quotaUses }) => quotaUses],
  tables: [json.listOf(json.text), ({ assetTypes }) => [...assetTypes.keys()]],
  users: [json.count, ({ users }) => users.size],
  clients: [json.count, ({ clients }) => clients.size],
  webhooks: [json.count, ({ webhooks }) => webhooks.size],
});

async function shown({ operator, usage, progress }: Api, tenant: Tenant) {
  const { name } = tenant;
  const parked = operator.parked().filter((each) => each.tenant === name);
  const behindSeconds = progress.staleness(name) ?? 0;
  const filling = progress.filling().has(name);
  return tenantView.show({ ...tenant, parked, filling, behindSeconds, quotaUses: await quotaUses(usage, tenant) });
}

export const operatorTenants: Resource = {
  tag: 'tenants',
  pathParameters: { id: { name: 'tenant', in: 'path', required: true, schema: json.text } },
  schemas: {
    OperatorTenant: tenantView.schema,
    OpenedTenant: json.closedObject({
      admin: json.closedObject({ email: json.text, password: json.text }),
      client: json.closedObject({ client_id: json.text, client_secret: json.text, scopes: json.listOf(json.text) }),
    }),
  },
  operations: {
    'GET /tenants': {
      id: 'listTenants',
      allow: 'operators',
      work: 'costly',
      query: parametersIn(pageQuery),
      answer: json.linkedPage('OperatorTenant', MAX_SHORT_PAGE),
      async handle(api, call) {
        const { search = '', cursor = '' } = parseQuery(pageQuery, call.query);
        const wanted = search.toLowerCase();
        const found = [...api.directory.tenants()]
          .filter(({ name, displayName }) => `${name}\n${displayName.toLowerCase()}`.includes(wanted))
          .filter(({ name }) => name > cursor)
          .sort((a, b) => (a.name < b.name ? -1 : 1));
        const entries = found.slice(0, MAX_SHORT_PAGE);
        const next = found.length > entries.length ? entries.at(-1)?.name : undefined;
        return linkedReply(api, call, await Promise.all(entries.map((tenant) => shown(api, tenant))), next);
      },
    },
    'POST /tenants': {
      id: 'openTenant',
      allow: 'operators',
      body: json.bodyOf(newTenantBody, { name: 'acme', order_model: 'dyn_stock_order' }),
      status: 201,
      answer: json.one('OpenedTenant', 'The first admin and API client, whose secrets are shown only here.'),
      async handle(api, { req, body, operator }) {
        const { name, order_model: orderModel, ...given } = parseBody(newTenantBody, body);
        const opening = { orderModel, displayName: given.display_name, adminEmail: given.admin_email };
        return dataReply(await openTenant(api.commands, operatorsCaller(req, operator, name), opening));
      },
    },
    'GET /tenants/:id': {
      id: 'getTenant',
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

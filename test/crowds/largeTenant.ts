/** A tenant as large as the limits allow in each direction, and requests of every operation to it. */
import { z } from 'zod';
import { routesOf } from '#app/api/routes/operation.js';
import { areas, areasOf } from '#app/api/routeTable.js';
import { ASSETS, type AssetRecord, PLATFORM, type TenantClient } from '../acceptance/tenant.js';
import type { CrowdRequest } from './crowd.js';

/** No tenant reaches the operator's: few people have its link, and each answer has a limit (docs/limits.md). */
const areasOfTenants = areas.filter((area) => !areasOf.operators.includes(area));
const all = areasOfTenants.flatMap((area) =>
  routesOf(area).map(({ method, path, operation }) => ({ name: `${method} ${area.prefix}${path}`, operation })),
);
/** Method and path, as in the route table. Orders and other records have histories of their own at one path. */
export const OPERATIONS = [...new Set(all.map(({ name }) => name))];
/** Reads that are made of many records or events. */
export const COSTLY_READS = OPERATIONS.filter(
  (one) =>
    one.startsWith('GET ') && all.some(({ name, operation }) => name === one && (operation.work ?? 'none') !== 'none'),
);

/** Parts of the large order. Each names one item, whose text makes the order's document 3.8 MB. */
const LINES = 1_000;
const ITEM_TEXT = 'x'.repeat(3_500);
/** Records of 870 KB, and how many of them. */
const LARGE_RECORDS = 20;
const TEXTS = Array.from({ length: 14 }, (_, n) => `text_${n}`);
const BATCHES = 6;

const longText = (seed: string): string => `${seed} `.repeat(20_000).slice(0, 62_000);
const largeRecord = (n: number) => ({
  value: 'v',
  ...Object.fromEntries(TEXTS.map((name, m) => [name, longText(`${n} ${m}`)])),
});
const largeBatch = (name: string) => ({
  items: Array.from({ length: 1_000 }, (_, n) => ({ external_id: `B${n}`, story: 'z'.repeat(3_800), name })),
});
const wide = Array.from({ length: 100 }, (_, n) => `field_${n}`);

const LONG_AGO = '2020-01-01T00:00:00Z';
const customData = (n: number) => ({ n, text: 'c'.repeat(60_000) });
/** Nothing listens there, so deliveries wait for their next attempt. */
const newWebhook = {
  url: 'https://127.0.0.1:9',
  events: ['order.created', 'order.updated', 'order.approved'],
  custom_data: customData(0),
};
const newUser = (name: string) => ({
  email: `${name}@example.com`,
  password: 'a long enough password',
  first_name: 'Eva',
  last_name: 'Smit',
  roles: ['validator'],
});
const newClient = (n: number) => ({ name: `client ${n}`, scopes: ['read:order_data'] });
const newTable = (n: number) => ({
  name: `dyn_more_${n}`,
  label: 'More',
  fields: [
    { name: 'external_id', type: 'String', required: true },
    ...wide.map((name) => ({ name, type: 'String', filterable: true, sortable: true })),
  ],
});

/** What differs from the operation's template, and from the headers of its area. */
type Given = {
  readonly path?: string;
  readonly body?: (n: number) => unknown;
  readonly by?: 'nobody' | 'leaver' | 'auditor';
};

const at = (path: string, table: string): string => path.replace(':table', table);

export type LargeTenant = {
  readonly operations: readonly string[];
  /** The requests of an operation, all legal. */
  readonly requests: (operation: string) => readonly CrowdRequest[];
  /** Host and token of a caller of the path. */
  readonly headersOf: (path: string) => CrowdRequest['headers'];
};

/** @returns its id; it has a delivery that waits */
async function addWebhookOf(tenant: TenantClient): Promise<string> {
  const { id } = z.object({ id: z.string() }).parse(await tenant.platformData('POST', '/webhooks', newWebhook));
  await tenant.platformData('POST', `/webhooks/${id}/test`, { event: 'order.approved' });
  return id;
}

/** @param count requests of each operation */
export async function makeLargeTenant(tenant: TenantClient, count: number): Promise<LargeTenant> {
  const fieldOf = (table: string, name: string, more: object = {}) =>
    tenant.platformData('POST', `/asset-types/${table}/fields`, { name, type: 'LongText', ...more });
  await fieldOf('dyn_item', 'story');
  for (const name of TEXTS) await fieldOf('dyn_unit_code', name, { filterable: true });
  const fields = wide.map((name) => ({ name, type: 'String', filterable: true, sortable: true }));
  await tenant.platformData('POST', '/asset-types', {
    name: 'dyn_wide',
    label: 'Wide',
    fields: [{ name: 'external_id', type: 'String', required: true }, ...fields],
  });
  const wideRecord = Object.fromEntries(wide.map((name, n) => [name, `value ${n} `.repeat(20).slice(0, 200)]));
  for (let n = 0; n < 4; n++)
    await tenant.batch(
      'dyn_wide',
      Array.from({ length: 180 }, (_, m) => ({ external_id: `${n} ${m}`, ...wideRecord })),
    );
  const earliest = new Date().toISOString();
  const records: AssetRecord[] = [];
  for (let n = 0; n < LARGE_RECORDS; n++)
    records.push(await tenant.create('dyn_unit_code', { code: `C${n}`, ...largeRecord(n) }));
  const item = await tenant.create('dyn_item', { external_id: 'I', name: 'Tea', story: ITEM_TEXT });
  const lines = (some: number) => Array.from({ length: some }, (_, n) => ({ item_id: item.id, quantity: n + 1 }));
  const order = await tenant.create('dyn_stock_order', { customer_reference: 'PO', lines: lines(LINES) });
  const changed = await tenant.create('dyn_stock_order', { lines: lines(600) });
  for (let n = 0; n < 30; n++) await tenant.update('dyn_stock_order', changed.id, { lines: lines(600) });
  const line = await tenant.create('dyn_order_line', { order_id: changed.id, quantity: 1 });
  for (let n = 0; n < BATCHES; n++) await tenant.batch('dyn_item', largeBatch(`name ${n}`).items);
  const undone = (await tenant.batch('dyn_item', largeBatch('undone').items)).operation_id ?? '';
  const sync = await tenant.sync('dyn_item');
  await tenant.batch(
    'dyn_item',
    largeBatch('synchronised').items.map((each) => ({ ...each, _batch_id: sync })),
  );
  const [synchronised] = (await tenant.list('dyn_item', { 'filter[external_id]': 'B999', perPage: '25' })).data;
  const webhook = await addWebhookOf(tenant);
  const user = z.object({ id: z.number() }).parse(await tenant.platformData('POST', '/users', newUser('first')));
  const addClient = async () =>
    z.object({ client_id: z.string() }).parse(await tenant.platformData('POST', '/api-clients', newClient(0)))
      .client_id;
  const [delivery] = z
    .array(z.object({ id: z.string() }))
    .min(1)
    .parse(await tenant.platformData('GET', `/webhooks/${webhook}/deliveries`));

  const clientHeaders = { host: tenant.host, authorization: `Bearer ${await tenant.token()}` };
  const personHeaders = { host: tenant.host, authorization: `Bearer ${await tenant.signIn()}` };
  const leaverHeaders = { ...personHeaders, authorization: `Bearer ${await tenant.signIn(tenant.admin)}` };
  const auditorHeaders = { host: tenant.host, authorization: `Bearer ${await tenant.auditToken()}` };
  const entries = z.object({ data: z.array(z.object({ id: z.string(), event_id: z.string() })).min(1) });
  const { body: activity } = await tenant.platform('GET', '/activity?kind=table.batch&limit=1');
  const entry = entries.parse(activity).data[0];
  const ofActivity = (path: string, by?: 'auditor'): readonly [string, Given][] => [
    [`GET ${path}`, { path: `${path}?table=dyn_item&limit=100`, ...(by && { by }) }],
    [`GET ${path}.csv`, { path: `${path}.csv?from=${LONG_AGO}`, ...(by && { by }) }],
    [`GET ${path}/:id/differences`, { path: `${path}/${entry?.id}/differences`, ...(by && { by }) }],
  ];
  const { client_id, client_secret } = tenant.client;
  const wholeOrder = (n: number) => ({ customer_reference: `PO ${n}`, lines: lines(1_000) });
  // From the first change of the table to the moment before the requests.
  const compared = { from: earliest, to: new Date().toISOString() };
  const inTable = (path: string): readonly [string, Given][] => [
    [`GET ${path}/info`, { path: `${at(path, 'dyn_wide')}/info` }],
    [`GET ${path}/assets`, { path: `${at(path, 'dyn_unit_code')}/assets?filter[text_0]=7&sort=-code&perPage=25` }],
    [`GET ${path}/compare`, { path: `${at(path, 'dyn_item')}/compare?from=${compared.from}&to=${compared.to}` }],
    [`GET ${path}/operations`, { path: `${at(path, 'dyn_item')}/operations` }],
    [`GET ${path}/syncs`, { path: `${at(path, 'dyn_item')}/syncs` }],
    [`GET ${path}/assets/:id`, { path: `${at(path, 'dyn_unit_code')}/assets/${records[0]?.id}` }],
    [`DELETE ${path}/assets/:id`, { path: `${at(path, 'dyn_order_line')}/assets/${line.id}` }],
  ];
  const ofOrder = `${PLATFORM}/orders/${order.id}`;
  const ofWebhook = `${PLATFORM}/webhooks/${webhook}`;
  const ofClient = `${PLATFORM}/api-clients/${await addClient()}`;
  const ofUser = `${PLATFORM}/users/${user.id}`;
  // Each changes all records again, as they take turns.
  const batches = Array.from({ length: 4 }, (_, n) => largeBatch(`${n}`));
  const writing = (path: string): readonly [string, Given][] => {
    const table = at(path, 'dyn_item');
    return [
      [`POST ${path}/assets/batch`, { path: `${table}/assets/batch`, body: (n) => batches[n % batches.length] }],
      [`POST ${path}/operations/:id/undo`, { path: `${table}/operations/${undone}/undo?dry_run=true` }],
      [`POST ${path}/syncs`, { path: `${table}/syncs` }],
      [`POST ${path}/syncs/:id/undo`, { path: `${table}/syncs/${sync}/undo?dry_run=true` }],
      [
        `POST ${path}/syncs/:id/commit`,
        { path: `${table}/syncs/${sync}/commit?dry_run=true`, body: () => ({ records: 1_000 }) },
      ],
    ];
  };
  const given = new Map<string, Given>([
    ...inTable(`${ASSETS}/:table`),
    [
      `POST ${ASSETS}/:table/assets`,
      { path: `${ASSETS}/dyn_unit_code/assets`, body: (n) => ({ code: `N${n}`, ...largeRecord(n) }) },
    ],
    [
      `PUT ${ASSETS}/:table/assets/:id`,
      { path: `${ASSETS}/dyn_unit_code/assets/${records[1]?.id}`, body: largeRecord },
    ],
    [`GET ${ASSETS}/`, {}],
    [
      `POST ${ASSETS}/:table/assets/clean-up`,
      { path: `${ASSETS}/dyn_item/assets/clean-up?dry_run=true`, body: () => ({ batch_id: 'none' }) },
    ],
    ...writing(`${ASSETS}/:table`),
    [`GET ${ASSETS}/:table/changes`, { path: `${ASSETS}/dyn_item/changes` }],
    [`GET ${ASSETS}/:table/assets/:id/history`, { path: `${ASSETS}/dyn_stock_order/assets/${changed.id}/history` }],
    [
      `GET ${ASSETS}/:table/assets/:id/replay`,
      { path: `${ASSETS}/dyn_stock_order/assets/${changed.id}/replay`, by: 'auditor' },
    ],

    ...ofActivity(`${ASSETS}/activity`, 'auditor'),
    ...ofActivity(`${PLATFORM}/activity`),
    [`GET ${PLATFORM}/tables`, { path: `${PLATFORM}/tables` }],
    [`GET ${PLATFORM}/audit/proof`, { path: `${PLATFORM}/audit/proof?event=${entry?.event_id}` }],
    ...inTable(`${PLATFORM}/tables/:table`),
    ...writing(`${PLATFORM}/tables/:table`),
    [
      `GET ${PLATFORM}/tables/:table/assets.csv`,
      { path: `${PLATFORM}/tables/dyn_unit_code/assets.csv?filter[text_0]=7` },
    ],
    // One of those that each batch changed.
    [
      `GET ${PLATFORM}/tables/:table/assets/:id/history`,
      { path: `${PLATFORM}/tables/dyn_item/assets/${synchronised?.id}/history?limit=100` },
    ],
    [
      `POST ${PLATFORM}/tables/:table/assets`,
      { path: `${PLATFORM}/tables/dyn_order_line/assets`, body: (n) => ({ order_id: changed.id, quantity: n }) },
    ],
    [
      `PUT ${PLATFORM}/tables/:table/assets/:id`,
      { path: `${PLATFORM}/tables/dyn_order_line/assets/${line.id}`, body: (n) => ({ quantity: n }) },
    ],
    [`POST ${PLATFORM}/session`, { body: () => ({ email: tenant.admin.email, password: tenant.admin.password }) }],
    [
      `POST ${PLATFORM}/session/password`,
      { body: () => ({ old_password: 'not this one', new_password: 'a long enough password' }) },
    ],
    [`GET ${PLATFORM}/session`, {}],
    [`GET ${PLATFORM}/orders`, { path: `${PLATFORM}/orders?include=summary&search=PO&problems=only` }],
    [`GET ${PLATFORM}/orders/counts`, {}],
    [`GET ${PLATFORM}/orders/:id`, { path: ofOrder }],
    [`PUT ${PLATFORM}/orders/:id`, { path: ofOrder, body: wholeOrder }],
    [`GET ${PLATFORM}/orders/:id/history`, { path: `${PLATFORM}/orders/${changed.id}/history` }],
    [`GET ${PLATFORM}/orders/:id/export`, { path: `${PLATFORM}/orders/${changed.id}/export` }],
    [`GET ${PLATFORM}/orders/:id/replay`, { path: `${PLATFORM}/orders/${changed.id}/replay` }],
    [`POST ${PLATFORM}/orders/:id/approve`, { path: `${ofOrder}/approve` }],
    [`POST ${PLATFORM}/orders/:id/reject`, { path: `${ofOrder}/reject`, body: () => ({ reasons: ['Why'] }) }],
    [`GET ${PLATFORM}/api-clients`, {}],
    [`POST ${PLATFORM}/api-clients`, { body: newClient }],
    [`POST ${PLATFORM}/api-clients/:id/secret`, { path: `${ofClient}/secret` }],
    [`POST ${PLATFORM}/api-clients/:id/secret/rotate`, { path: `${ofClient}/secret/rotate` }],
    [`POST ${PLATFORM}/api-clients/:id/secret/promote`, { path: `${ofClient}/secret/promote` }],
    [`DELETE ${PLATFORM}/api-clients/:id/secret/staged`, { path: `${ofClient}/secret/staged` }],
    [`DELETE ${PLATFORM}/api-clients/:id`, { path: `${PLATFORM}/api-clients/${await addClient()}` }],
    [`GET ${PLATFORM}/webhooks`, {}],
    [`POST ${PLATFORM}/webhooks`, { body: (n) => ({ ...newWebhook, name: `webhook ${n}` }) }],
    [`GET ${PLATFORM}/webhooks/:id`, { path: ofWebhook }],
    [`PUT ${PLATFORM}/webhooks/:id`, { path: ofWebhook, body: (n) => ({ custom_data: customData(n) }) }],
    [`POST ${PLATFORM}/webhooks/:id/secret/rotate`, { path: `${ofWebhook}/secret/rotate` }],
    [`GET ${PLATFORM}/webhooks/:id/deliveries`, { path: `${ofWebhook}/deliveries` }],
    [`GET ${PLATFORM}/webhooks/:id/deliveries/:deliveryId`, { path: `${ofWebhook}/deliveries/${delivery?.id}` }],
    [
      `GET ${PLATFORM}/webhooks/:id/deliveries/:deliveryId/body`,
      { path: `${ofWebhook}/deliveries/${delivery?.id}/body` },
    ],
    [
      `POST ${PLATFORM}/webhooks/:id/deliveries/:deliveryId/resend`,
      { path: `${ofWebhook}/deliveries/${delivery?.id}/resend` },
    ],
    [`POST ${PLATFORM}/webhooks/:id/backfill`, { path: `${ofWebhook}/backfill`, body: () => ({ from: LONG_AGO }) }],
    [
      `POST ${PLATFORM}/webhooks/:id/test`,
      { path: `${ofWebhook}/test`, body: () => ({ event: 'reference.batch_upserted' }) },
    ],
    [`DELETE ${PLATFORM}/webhooks/:id`, { path: `${PLATFORM}/webhooks/${await addWebhookOf(tenant)}` }],
    [`GET ${PLATFORM}/webhook-events`, {}],
    [`GET ${PLATFORM}/users`, {}],
    [`POST ${PLATFORM}/users`, { body: (n) => newUser(`user-${n}`) }],
    [`GET ${PLATFORM}/users/:id`, { path: ofUser }],
    [`PUT ${PLATFORM}/users/:id`, { path: ofUser, body: (n) => ({ first_name: `Name ${n}` }) }],
    [`POST ${PLATFORM}/users/:id/password`, { path: `${ofUser}/password` }],
    [`DELETE ${PLATFORM}/users/:id`, { path: ofUser }],
    [`GET ${PLATFORM}/asset-types`, {}],
    [`POST ${PLATFORM}/asset-types`, { body: newTable }],
    [
      `POST ${PLATFORM}/asset-types/:table/fields`,
      {
        path: `${PLATFORM}/asset-types/dyn_unit_code/fields`,
        body: (n) => ({ name: `more_${n}`, type: 'LongText', filterable: true }),
      },
    ],
    [`GET ${PLATFORM}/tenant`, {}],
    [`PUT ${PLATFORM}/tenant/rate-limit`, { body: (n) => ({ per_second: 5_000 + n, burst: 5_000 }) }],
    [`DELETE ${PLATFORM}/tenant/rate-limit`, {}],
    [`PUT ${PLATFORM}/tenant/clean-up-guard`, { body: (n) => ({ max_percent: 20, min_records: n }) }],

    [
      'POST /oauth/token',
      { by: 'nobody', body: () => ({ grant_type: 'client_credentials', client_id, client_secret }) },
    ],
    ['GET /.well-known/oauth-authorization-server', { by: 'nobody' }],
    ['GET /docs/', { by: 'nobody' }],
    ['GET /docs/*page', { by: 'nobody', path: '/docs/synchronise-a-table' }],
    ['GET /console/', { by: 'nobody' }],
    ['GET /console/*page', { by: 'nobody', path: '/console/orders' }],
    ['GET /openapi.json', {}],
    ['GET /', { by: 'nobody' }],
    ['GET /health/live', { by: 'nobody' }],
    ['GET /health/ready', { by: 'nobody' }],
    ['GET /metrics', { by: 'nobody' }],
    [`DELETE ${PLATFORM}/session`, { by: 'leaver' }],
  ]);

  const headersOf = (path: string) => (path.startsWith(PLATFORM) ? personHeaders : clientHeaders);
  return {
    operations: [...given.keys()],
    headersOf,
    requests(operation) {
      const { path, body, by } = given.get(operation) ?? {};
      const [method = '', template = ''] = operation.split(' ');
      const special = { nobody: { host: tenant.host }, leaver: leaverHeaders, auditor: auditorHeaders };
      const headers = by === undefined ? headersOf(template) : special[by];
      const texts = new Map<unknown, string>();
      const text = (n: number) => {
        const value = body?.(n);
        if (value !== undefined && !texts.has(value)) texts.set(value, JSON.stringify(value));
        return texts.get(value);
      };
      return Array.from({ length: count }, (_, n) => ({ method, path: path ?? template, headers, body: text(n) }));
    },
  };
}

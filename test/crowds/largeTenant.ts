/** A tenant as large as the limits allow in each direction, and requests of every costly operation to it. */
import { z } from 'zod';
import { routesOf } from '#app/api/routes/operation.js';
import { areas, areasOf } from '#app/api/routeTable.js';
import { ASSETS, type AssetRecord, PLATFORM, type TenantClient } from '../acceptance/tenant.js';
import type { CrowdRequest } from './crowd.js';

/** No tenant reaches the operator's: few people have its link, and each answer has a limit (docs/limits.md). */
const areasOfTenants = areas.filter((area) => !areasOf.operators.includes(area));
/** People and auditors have these of the programs, at paths of their own. */
const isRepeated = (name: string): boolean =>
  [`${PLATFORM}/tables/:table/`, `${PLATFORM}/activity`, `${ASSETS}/:table/assets/:id/replay`].some((path) =>
    name.includes(path),
  );
/** Method and path, as in the route table, of what takes turns. */
export const TAKES_TURNS = areasOfTenants
  .flatMap((area) =>
    routesOf(area).flatMap(({ method, path, operation }) =>
      (operation.work ?? 'none') === 'none' ? [] : [`${method} ${area.prefix}${path}`],
    ),
  )
  .filter((name, n, all) => !isRepeated(name) && all.indexOf(name) === n);

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
/** What differs from the operation's template. */
type Given = { readonly path?: string; readonly body?: (n: number) => unknown; readonly by?: 'nobody' | 'auditor' };

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
  for (let n = 0; n < BATCHES; n++) await tenant.batch('dyn_item', largeBatch(`name ${n}`).items);
  const undone = (await tenant.batch('dyn_item', largeBatch('undone').items)).operation_id ?? '';
  const sync = await tenant.sync('dyn_item');
  await tenant.batch(
    'dyn_item',
    largeBatch('synchronised').items.map((each) => ({ ...each, _batch_id: sync })),
  );
  const webhook = await addWebhookOf(tenant);
  const [delivery] = z
    .array(z.object({ id: z.string() }))
    .min(1)
    .parse(await tenant.platformData('GET', `/webhooks/${webhook}/deliveries`));

  const clientHeaders = { host: tenant.host, authorization: `Bearer ${await tenant.token()}` };
  const personHeaders = { host: tenant.host, authorization: `Bearer ${await tenant.signIn()}` };
  const auditorHeaders = { host: tenant.host, authorization: `Bearer ${await tenant.auditToken()}` };
  const entries = z.object({ data: z.array(z.object({ id: z.string(), event_id: z.string() })).min(1) });
  const { body: newest } = await tenant.platform('GET', '/activity?kind=table.batch&limit=1');
  const entry = entries.parse(newest).data[0];
  const { client_id, client_secret } = tenant.client;
  // From the first change of the table to the moment before the requests.
  const moments = `from=${earliest}&to=${new Date().toISOString()}`;
  // Each changes all records again, as they take turns.
  const batches = Array.from({ length: 4 }, (_, n) => largeBatch(`${n}`));
  const [tables, activity] = [`${ASSETS}/:table`, `${ASSETS}/activity`];
  const [items, units, orders] = ['dyn_item', 'dyn_unit_code', 'dyn_stock_order'].map((name) => `${ASSETS}/${name}`);
  const [ofOrder, ofWebhook] = [`${PLATFORM}/orders/${order.id}`, `${PLATFORM}/webhooks/${webhook}`];
  const given = new Map<string, Given>([
    [`GET ${tables}/assets`, { path: `${units}/assets?filter[text_0]=7&sort=-code&perPage=25` }],
    [`GET ${tables}/assets/:id`, { path: `${units}/assets/${records[0]?.id}` }],
    [`GET ${tables}/info`, { path: `${ASSETS}/dyn_wide/info` }],
    [`GET ${tables}/compare`, { path: `${items}/compare?${moments}` }],
    [`GET ${tables}/operations`, { path: `${items}/operations` }],
    [`GET ${tables}/changes`, { path: `${items}/changes` }],
    [`GET ${tables}/assets/:id/history`, { path: `${orders}/assets/${changed.id}/history` }],
    [`POST ${tables}/assets`, { path: `${units}/assets`, body: (n) => ({ code: `N${n}`, ...largeRecord(n) }) }],
    [`PUT ${tables}/assets/:id`, { path: `${units}/assets/${records[1]?.id}`, body: largeRecord }],
    [`POST ${tables}/assets/batch`, { path: `${items}/assets/batch`, body: (n) => batches[n % batches.length] }],
    [
      `POST ${tables}/assets/clean-up`,
      { path: `${items}/assets/clean-up?dry_run=true`, body: () => ({ batch_id: 'no' }) },
    ],
    [`POST ${tables}/operations/:id/undo`, { path: `${items}/operations/${undone}/undo` }],
    [
      `POST ${tables}/syncs/:id/commit`,
      { path: `${items}/syncs/${sync}/commit?dry_run=true`, body: () => ({ records: 1_000 }) },
    ],
    [`GET ${activity}`, { path: `${activity}?table=dyn_item&limit=100`, by: 'auditor' }],
    [`GET ${activity}.csv`, { path: `${activity}.csv?from=${LONG_AGO}`, by: 'auditor' }],
    [`GET ${PLATFORM}/audit/proof`, { path: `${PLATFORM}/audit/proof?event=${entry?.event_id}` }],
    [`POST ${PLATFORM}/session`, { body: () => ({ email: tenant.admin.email, password: tenant.admin.password }) }],
    [`GET ${PLATFORM}/orders`, { path: `${PLATFORM}/orders?search=PO` }],
    [`GET ${PLATFORM}/orders/counts`, {}],
    [`GET ${PLATFORM}/orders/:id`, { path: ofOrder }],
    [
      `PUT ${PLATFORM}/orders/:id`,
      { path: ofOrder, body: (n) => ({ customer_reference: `PO ${n}`, lines: lines(1_000) }) },
    ],
    [`GET ${PLATFORM}/orders/:id/history`, { path: `${PLATFORM}/orders/${changed.id}/history` }],
    [`GET ${PLATFORM}/orders/:id/export`, { path: `${PLATFORM}/orders/${changed.id}/export` }],
    [`GET ${PLATFORM}/orders/:id/replay`, { path: `${PLATFORM}/orders/${changed.id}/replay` }],
    [`POST ${PLATFORM}/orders/:id/approve`, { path: `${ofOrder}/approve` }],
    [`POST ${PLATFORM}/webhooks`, { body: (n) => ({ ...newWebhook, name: `webhook ${n}` }) }],
    [`PUT ${PLATFORM}/webhooks/:id`, { path: ofWebhook, body: (n) => ({ custom_data: customData(n) }) }],
    [`GET ${PLATFORM}/webhooks/:id/deliveries`, { path: `${ofWebhook}/deliveries` }],
    [
      `GET ${PLATFORM}/webhooks/:id/deliveries/:deliveryId/body`,
      { path: `${ofWebhook}/deliveries/${delivery?.id}/body` },
    ],
    [`POST ${PLATFORM}/webhooks/:id/backfill`, { path: `${ofWebhook}/backfill`, body: () => ({ from: LONG_AGO }) }],
    [
      'POST /oauth/token',
      { by: 'nobody', body: () => ({ grant_type: 'client_credentials', client_id, client_secret }) },
    ],
    ['GET /openapi.json', {}],
    ['GET /docs/*page', { by: 'nobody', path: '/docs/synchronise-a-table' }],
    ['GET /metrics', { by: 'nobody' }],
  ]);

  const headersOf = (path: string) => (path.startsWith(PLATFORM) ? personHeaders : clientHeaders);
  return {
    operations: [...given.keys()],
    headersOf,
    requests(operation) {
      const { path, body, by } = given.get(operation) ?? {};
      const [method = '', template = ''] = operation.split(' ');
      const special = { nobody: { host: tenant.host }, auditor: auditorHeaders };
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

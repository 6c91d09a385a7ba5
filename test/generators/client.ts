/** A program of an integrator's in TypeScript, with what openapi-typescript makes of the document (stock model). */
import createClient from 'openapi-fetch';
import type { components, paths } from './stock.js';

type Schemas = components['schemas'];
type Item = Schemas['DynItem'];

const TABLE = '/api/v1/dynamic-assets/dyn/{table}/assets';
const { BASE_URL, TENANT, CLIENT_ID, CLIENT_SECRET } = process.env;

const client = createClient<paths>({ baseUrl: BASE_URL ?? '', headers: { 'X-Tenant': TENANT } });
const { data: token, error } = await client.POST('/oauth/token', {
  body: { grant_type: 'client_credentials', client_id: CLIENT_ID ?? '', client_secret: CLIENT_SECRET ?? '' },
});
if (token === undefined) throw new Error(error.message);
const headers = { Authorization: `Bearer ${token.access_token}` };

const tea: Schemas['CreateDynItemInput'] = { external_id: 'TS-1', name: 'Tea', brand_name: null };
const made = await client.POST(TABLE, {
  headers: { ...headers, 'Idempotency-Key': 'client.ts' },
  params: { path: { table: 'dyn_item' } },
  body: tea,
});
const item = made.data?.data as Item | undefined;
// @ts-expect-error a name is always there
export const noName: Item = { ...item, name: null };
// @ts-expect-error external_id is required
export const noKey: Schemas['CreateDynItemInput'] = { name: 'Tea' };

const { data: listed } = await client.GET(TABLE, {
  headers,
  params: {
    path: { table: 'dyn_item' },
    query: {
      'filter[name]': 'tea',
      'filter[external_id][eq]': 'TS-1',
      'filter[updated_at][gte]': '2026-01-01T00:00:00Z',
      sort: '-updated_at',
      perPage: 25,
    },
  },
});
const at = { headers, params: { path: { table: 'dyn_item' } } } as const;
// @ts-expect-error there is no such field
export const noField = () => client.GET(TABLE, { ...at, params: { ...at.params, query: { 'filter[nothing]': '' } } });
// @ts-expect-error 20 is no size of a page
export const noSize = () => client.GET(TABLE, { ...at, params: { ...at.params, query: { perPage: 20 } } });
// @ts-expect-error there is no such table
export const noTable = () => client.GET(TABLE, { ...at, params: { path: { table: 'dyn_thing' } } });

const order = await client.POST(TABLE, { headers, params: { path: { table: 'dyn_stock_order' } }, body: {} });
const reported = await client.PUT(`${TABLE}/{asset_id}`, {
  headers,
  params: { path: { table: 'dyn_stock_order', asset_id: order.data?.data.id ?? '' } },
  body: { processing_status: 'completed' },
});

process.stdout.write(
  JSON.stringify({
    id: item?.id,
    brand: item?.brand_name,
    names: listed?.data.map(({ name }) => name),
    total: listed?.meta.total,
    status: reported.data?.data.processing_status,
  }),
);

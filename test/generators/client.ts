/** A program of an integrator's in TypeScript, with what openapi-typescript makes of the document (stock model). */
import createClient from 'openapi-fetch';
import type { components, paths } from './stock.js';

type Item = components['schemas']['DynItem'];

const TABLE = '/api/v1/dynamic-assets/dyn/dyn_item/assets';
const { BASE_URL, TENANT, CLIENT_ID, CLIENT_SECRET } = process.env;

const client = createClient<paths>({ baseUrl: BASE_URL ?? '', headers: { 'X-Tenant': TENANT } });
const { data: token, error } = await client.POST('/oauth/token', {
  body: { grant_type: 'client_credentials', client_id: CLIENT_ID ?? '', client_secret: CLIENT_SECRET ?? '' },
});
if (token === undefined) throw new Error(error.message);
const headers = { Authorization: `Bearer ${token.access_token}` };

const made = await client.POST(TABLE, {
  headers,
  params: { header: { 'Idempotency-Key': 'client.ts' } },
  body: { external_id: 'TS-1', name: 'Tea', brand_name: null },
});
const item: Item | undefined = made.data?.data;
// @ts-expect-error a name is always there
export const noName: Item = { ...item, name: null };
const brand: string | null | undefined = item?.brand_name;

const listed = await client.GET(TABLE, {
  headers,
  params: {
    query: {
      'filter[name]': 'tea',
      'filter[external_id]': { in: 'TS-1,TS-2' },
      'filter[updated_at]': { gte: '2026-01-01T00:00:00Z' },
      sort: '-updated_at',
      perPage: 25,
    },
  },
});
// @ts-expect-error there is no such operator
export const noOperator = () => client.GET(TABLE, { params: { query: { 'filter[updated_at]': { above: '' } } } });
// @ts-expect-error external_id is required
export const noKey = () => client.POST(TABLE, { headers, body: { name: 'Tea' } });
// @ts-expect-error 20 is no size of a page
export const noSize = () => client.GET(TABLE, { headers, params: { query: { perPage: 20 } } });

const meta = listed.data?.meta;
const total = meta !== undefined && 'total' in meta ? meta.total : undefined;
process.stdout.write(JSON.stringify({ id: item?.id, brand, names: listed.data?.data.map(({ name }) => name), total }));

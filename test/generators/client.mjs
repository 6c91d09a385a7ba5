/**
 * What Postman does with the document (stock model): its own converter makes a collection, in which a person switches the
 * parameters on that they want, fills them in, and asks for a token.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';

const { TENANT, CLIENT_ID, CLIENT_SECRET, TOOLS } = process.env;
const { convertV2 } = createRequire(`${TOOLS}/`)('openapi-to-postmanv2');
const input = { type: 'string', data: readFileSync('stock.json', 'utf8') };
const { result, reason, output } = await promisify(convertV2)(input, { enableOptionalParameters: false });
if (!result) throw new Error(reason);
const [{ data: collection }] = output;

const itemsIn = ({ item, ...request }) => (item === undefined ? [request] : item.flatMap(itemsIn));
const requests = new Map(itemsIn(collection).map(({ name, request }) => [name, request]));
const variable = (name) => collection.variable.find(({ key }) => key === name)?.value;
// Node knows no names below localhost, so a header says which tenant is meant.
const base = variable('baseUrl').replace(/\/\/[^:/]+/, '//127.0.0.1');
const authOf = (name) => Object.fromEntries(requests.get(name).auth.oauth2.map(({ key, value }) => [key, value]));

async function tokenFor(name) {
  const { accessTokenUrl, grant_type, scope } = authOf(name);
  const url = accessTokenUrl.replace(variable('baseUrl'), base);
  const body = new URLSearchParams({ grant_type, scope, client_id: CLIENT_ID, client_secret: CLIENT_SECRET });
  const answer = await fetch(url, { method: 'POST', headers: { 'X-Tenant': TENANT }, body });
  return (await answer.json()).access_token;
}

async function send(name, { path, query = {}, body }) {
  const { method, url, header } = requests.get(name);
  const named = url.path.map((part) => (part.startsWith(':') ? path[part.slice(1)] : part)).join('/');
  const offered = url.query.map(({ key }) => key);
  for (const key of Object.keys(query)) if (!offered.includes(key)) throw new Error(`There is no ${key}.`);
  const enabled = url.query.filter(({ disabled, key }) => !disabled || key in query);
  const parameters = new URLSearchParams(enabled.map(({ key, value }) => [key, query[key] ?? value]));
  const headers = header.filter(({ disabled }) => !disabled).map(({ key, value }) => [key, value]);
  const answer = await fetch(`${base}/${named}?${parameters}`, {
    method,
    headers: [...headers, ['X-Tenant', TENANT], ['Authorization', `Bearer ${await tokenFor(name)}`]],
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${name}: ${await answer.text()}`);
  return answer.json();
}

const [list, create, update] = [
  'Records, page by page',
  'Create a record',
  'Update a record, or report the status of an order',
];
const items = { table: 'dyn_item' };
const { data: made } = await send(create, { path: items, body: { external_id: 'PM-1', name: 'Cocoa' } });
const query = { 'filter[name]': 'cocoa', 'filter[external_id][eq]': 'PM-1', sort: '-updated_at' };
const listed = await send(list, { path: items, query });
const orders = { table: 'dyn_stock_order' };
const { data: order } = await send(create, { path: orders, body: {} });
const path = { ...orders, asset_id: order.id };
const { data: reported } = await send(update, { path, body: { processing_status: 'completed' } });
const keys = [...requests.values()].flatMap(({ header = [] }) => header.map(({ key }) => key));
process.stdout.write(
  JSON.stringify({
    id: made.id,
    names: listed.data.map(({ name }) => name),
    total: listed.meta.total,
    status: reported.processing_status,
    headers: [...new Set(keys)].sort(),
  }),
);

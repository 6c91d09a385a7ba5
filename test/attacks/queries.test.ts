/** What a URL and header fields can make the service do. */
import { expectRefused } from '../acceptance/refusals.js';
import { ASSETS } from '../acceptance/tenant.js';
import { useService } from '../acceptance/useService.js';
import { LONG_URLS } from './hostileRequests.js';

const run = useService({ tenants: { acme: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');
const LIST = `${ASSETS}/dyn_item/assets`;
const list = (query: string) => () => acme().send('GET', `${LIST}?${query}`);
const numbers = (count: number): string => Array.from({ length: count }, (_, n) => n).join(',');

it('§4.3: the filters of a list have at most 200 values in all', async () => {
  const query = (last: number) =>
    `filter[name]=${numbers(100)}&filter[sku]=${numbers(99)}&filter[ean]=${numbers(last)}`;
  expect((await list(query(1))()).status).toBe(200);
  const answer = await expectRefused(run.service, 400, list(query(2)));
  expect(answer.text).toContain('The filters have more than 200 values in all.');
});

it.each([
  ['parameters', 'page=1&'.repeat(101), 'The query has more than 100 parameters.'],
  ['values of a filter', `filter[name]=${numbers(101)}`, 'filter[name] has more than 100 values.'],
  ['characters of a value', `filter[name]=${'x'.repeat(256)}`, 'a value of more than 255 characters'],
  ['fields to sort by', `sort=${'name,'.repeat(10)}name`, 'sort has more than 10 fields.'],
])('a list with too many %s is 400, and says so', async (_what, query, reason) => {
  const answer = await expectRefused(run.service, 400, list(query));
  expect(answer.text).toContain(reason);
});

it.each([
  ['URL', { path: `${LIST}?filter[name]=${'x'.repeat(17_000)}`, headers: {} }],
  ['header fields', { path: LIST, headers: { 'x-filler': 'x'.repeat(17_000) } }],
])('a request with more than 16 KB of %s is 431', async (_what, { path, headers }) => {
  await expectRefused(run.service, 431, () => acme().send('GET', path, { headers }));
});

it.each(LONG_URLS)('$name are refused in few bytes', async ({ method, path, headers = {}, status }) => {
  const answer = await expectRefused(run.service, status, () => acme().send(method, path, { headers }));
  expect(answer.text.length).toBeLessThan(20_000);
});

/** What a URL and header fields can make the service do. */
import { expectRefused } from '../acceptance/refusals.js';
import { ASSETS } from '../acceptance/tenant.js';
import { useService } from '../acceptance/useService.js';
import { scaled } from '../engines/timeScale.js';
import { watched } from './probe.js';

const run = useService({ tenants: { acme: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');
const LIST = `${ASSETS}/dyn_item/assets`;
const list = (query: string) => () => acme().send('GET', `${LIST}?${query}`);
const numbers = (count: number): string => Array.from({ length: count }, (_, n) => n).join(',');

/** Ten times what they take on a machine that is not busy. */
const TIME_MS = scaled(5_000);

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

it.each([
  ['parameters', `${LIST}?${'a&'.repeat(7_000)}`, {}],
  ['brackets', `${LIST}?${'['.repeat(14_000)}`, {}],
  ['commas', `${LIST}?sort=${','.repeat(14_000)}`, {}],
  ['escaped commas', `${LIST}?filter[name]=${'\\,'.repeat(7_000)}`, {}],
  ['zeros', `${LIST}?page=${'0'.repeat(14_000)}`, {}],
  ['path segments', `${ASSETS}${'/a'.repeat(7_000)}`, {}],
  ['blanks in Authorization', LIST, { authorization: `Bearer ${' '.repeat(14_000)}\u00e9` }],
  ['signs in Authorization', LIST, { authorization: `Bearer ${'='.repeat(14_000)}x` }],
  ['cookies', '/api/v1/platform/session', { authorization: '', cookie: 'a=b;'.repeat(3_500) }],
])('16 KB of %s are answered in a moment', async (_what, path, headers) => {
  const { result, ms } = await watched(run.service, () => acme().send('GET', path, { headers }));
  expect(result.status).toBeGreaterThanOrEqual(400);
  expect(result.status).toBeLessThan(500);
  expect(result.text.length).toBeLessThan(20_000);
  expect(ms).toBeLessThan(TIME_MS);
});

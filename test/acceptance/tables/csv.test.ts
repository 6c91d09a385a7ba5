/** A table as CSV: its bytes, its pages, and the way back through the console's import. */
import { z } from 'zod';
import { rowOf } from '../../../console/src/tables/cells.js';
import { csvPieces, guessDialect } from '../../../console/src/tables/csv.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { bytes: 'dyn_stock_order', back: 'dyn_stock_order', paged: 'dyn_stock_order' } });
const TABLE = '/tables/dyn_item';

it('begins with a byte order mark; null is empty, a number a number, and what a sheet would run or change a text', async () => {
  const tenant = run.tenant('bytes');
  await tenant.batch('dyn_item', [
    { external_id: 'X1', name: '=1+1', description: '', net_weight: -75.63, active: true },
    { external_id: 'X2', name: "'=1+1", sku: "'s-Gravenhage", ean: '08712345678901' },
    { external_id: 'X3', name: 'Tea, "green"; 1\nleaf' },
  ]);
  const { headers, text } = await tenant.platform('GET', `${TABLE}/assets.csv`, {
    query: { 'filter[external_id]': 'X' },
  });
  expect(headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
  expect(headers.link).toBeUndefined();
  expect(text.replaceAll(/2\d{3}-[\d:.T-]+Z/g, 'T').split('\r\n')).toEqual([
    '\uFEFFexternal_id,name,description,brand_name,sku,ean,base_unit_code_id,category_id,category_name,product_id,net_weight,active,created_at,updated_at',
    "X1,'=1+1,',,,,,,,,-75.63,true,T,T",
    "X2,''=1+1,,,'s-Gravenhage,'08712345678901,,,,,,,T,T",
    'X3,"Tea, ""green""; 1\nleaf",,,,,,,,,,,T,T',
    '',
  ]);
});

const HOSTILE = [
  '=1+1',
  "'=1+1",
  '-75.63',
  "'",
  "''",
  ' ',
  '00123',
  '1-2',
  'true',
  'a,b',
  'a;b',
  '"',
  'é\r\n€',
  '\t=',
  "'s",
];

it('is imported as it was: nothing changes', async () => {
  const tenant = run.tenant('back');
  const items = HOSTILE.map((name, n) => ({
    external_id: `K${n}`,
    name,
    description: n % 2 === 0 ? '' : name,
    net_weight: [null, -75.63, 1e-7, 1.234, 0][n % 5],
    active: [null, true, false][n % 3],
  }));
  await tenant.batch('dyn_item', items);
  const { text } = await tenant.platform('GET', `${TABLE}/assets.csv`, { query: { perPage: '100' } });
  const field = z.object({ name: z.string(), type: z.string() });
  const info = z.object({ fields: z.array(field) }).parse(await tenant.platformData('GET', `${TABLE}/info`));
  const file = new Blob([text]);
  const dialect = await guessDialect(file, ',');
  const sent: object[] = [];
  for await (const { rows } of csvPieces(file, dialect)) {
    const [names, ...others] = rows;
    const columns =
      names?.cells.map((name) => info.fields.find((each) => each.name === name && !/_at$/.test(name))) ?? [];
    const read = others.map((row) => rowOf(row, columns, dialect));
    expect(read.flatMap(({ flaws }) => flaws)).toEqual([]);
    sent.push(...read.map(({ item }) => item));
  }
  expect(sent).toHaveLength((await tenant.list('dyn_item')).meta.total);
  const options = { query: 'dry_run=true', body: { items: sent } };
  const { body } = await tenant.platform('POST', `${TABLE}/assets/batch`, options);
  expect(body).toMatchObject({ data: { created: 0, updated: 0, differences: [] } });
});

it('comes page by page, and only the first has the mark', async () => {
  const tenant = run.tenant('paged');
  await tenant.batch(
    'dyn_item',
    Array.from({ length: 30 }, (_, n) => ({ external_id: `P${n}`, name: `Item ${n}` })),
  );
  const get = (query: object) => tenant.platform('GET', `${TABLE}/assets.csv`, { query: { ...query } });
  const first = await get({});
  const [, next = ''] = /<([^>]+)>; rel="next"/.exec(String(first.headers.link)) ?? [];
  const rest = await get(Object.fromEntries(new URL(next).searchParams));
  const [head = '', ...lines] = first.text.split('\r\n');
  expect(lines).toHaveLength(26);
  const [headOfRest, ...linesOfRest] = rest.text.split('\r\n');
  expect(headOfRest).toBe(head.slice(1));
  expect(25 + linesOfRest.length - 1).toBe((await tenant.list('dyn_item')).meta.total);
});

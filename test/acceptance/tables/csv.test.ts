/** A table as the console's CSV, and the way back through its import. */
import { z } from 'zod';
import { rowOf } from '../../../console/src/tables/cells.js';
import { csvOf, csvPieces, guessDialect } from '../../../console/src/tables/csv.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { back: 'dyn_stock_order' } });
const TABLE = '/tables/dyn_item';

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
  const field = z.object({ name: z.string(), type: z.string() });
  const info = z.object({ fields: z.array(field) }).parse(await tenant.platformData('GET', `${TABLE}/info`));
  const { data } = await tenant.list('dyn_item', { perPage: '100' });
  const file = new Blob([csvOf(info.fields, data, '.')]);
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

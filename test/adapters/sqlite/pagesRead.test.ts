/** What a list reads of a file that is not in memory: where indexes tell which records match, only the rows of the page are read. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { COSTS, type Costs } from '#app/adapters/readmodels/sqlite/query/costs.js';
import { Lister } from '#app/adapters/readmodels/sqlite/query/lister.js';
import { ReadConnection } from '#app/adapters/readmodels/sqlite/read/readConnection.js';
import { openSqliteReadModelWriter } from '#app/adapters/readmodels/sqlite/write/writer.js';
import type { FieldFilter, RecordQuery } from '#app/ports/readModels.js';
import { acmePlaces, contains, fill, id, insert, query } from '../../contract/readModelsFixture.js';

const RECORDS = 12_000;
const PAGE_BYTES = 4096;
const PROCESS_IO = '/proc/self/io';

const directory = mkdtempSync(join(tmpdir(), 'pages-read-'));
const file = join(directory, 'readmodels.db');
afterAll(() => rmSync(directory, { recursive: true }));

beforeAll(async () => {
  const writer = await openSqliteReadModelWriter({ file, smallRows: 0 });
  // Wide rows in an order that no index has, so that to look into many of them is to read most pages of the table.
  const changes = Array.from({ length: RECORDS }, (_, n) =>
    insert(n, {
      name: `${n % 7 === 0 ? 'San' : 'Port'} ${(n * 7919) % RECORDS} ${'-'.repeat(150)}`,
      size: (n * 6007) % RECORDS,
      open: n % 2 === 0,
    }),
  );
  await fill(writer, changes);
  await writer.close();
}, 60_000);

const bytesRead = (): number => Number(/^rchar: (\d+)$/m.exec(readFileSync(PROCESS_IO, 'utf8'))?.[1]);

/** By a connection that has read nothing; the fewest of some times, as the process may read something else meanwhile. */
function pagesRead(asked: RecordQuery, costs: Costs = COSTS): number {
  const times = Array.from({ length: 3 }, () => {
    const connection = new ReadConnection({ file, cacheMegabytes: 16 });
    const before = bytesRead();
    new Lister(connection, costs).list(acmePlaces, asked);
    const pages = Math.round((bytesRead() - before) / PAGE_BYTES);
    connection.close();
    return pages;
  });
  return Math.min(...times);
}

const isCounted = existsSync(PROCESS_IO) ? test : test.skip;

isCounted(
  'two filters that have an index each are answered by these, and not by the rows that one of them finds',
  () => {
    const large = { kind: 'compares', field: 'size', is: 'gte', value: RECORDS * 0.8 } as const;
    const asked = query({ filters: [contains('name', 'san'), large], sort: [{ field: 'code', direction: 'asc' }] });
    expect(pagesRead(asked)).toBeLessThan(160);
  },
);

isCounted(
  'the order of one column is gone through by what an index knows of the matches of another, also of many',
  () => {
    const sort = [{ field: 'size', direction: 'desc' }] as const;
    const asked = query({ filters: [contains('name', 'san')], sort, offset: 300 });
    expect(pagesRead(asked, { ...COSTS, listedRows: 100 })).toBeLessThan(160);
  },
);

isCounted('a search in several fields, and for values of another, reads an index for each', () => {
  const searched = ['name', 'code'].map((field) => contains(field, ' 1181') as FieldFilter);
  const values = { kind: 'equals', field: 'size', anyOf: [7, 4_711] } as const;
  const begins = { kind: 'begins', field: 'id', with: id(3) } as const;
  const asked = query({ filters: [{ kind: 'any', anyOf: [...searched, values, begins] }] });
  expect(pagesRead(asked)).toBeLessThan(160);
});

isCounted('in an order that rows are not in, each record of a page is read from one table', () => {
  // A page and one above it for each of 25, and some for the index and the schema.
  expect(pagesRead(query({ sort: [{ field: 'size', direction: 'asc' }] }))).toBeLessThan(75);
});

isCounted('deep in the ties of a first term, the second one is gone through by its own index', () => {
  const asked = query({
    sort: ['open', 'size'].map((field) => ({ field, direction: 'asc' })),
    offset: RECORDS / 4,
  });
  expect(pagesRead(asked)).toBeLessThan(220);
});

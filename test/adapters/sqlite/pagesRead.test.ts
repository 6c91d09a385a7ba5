/** What a list reads of a file that is not in memory: where indexes tell which records match, only the rows of the page are read. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { COSTS, type Costs } from '#app/adapters/readmodels/sqlite/query/costs.js';
import { Lister } from '#app/adapters/readmodels/sqlite/query/lister.js';
import { ReadConnection } from '#app/adapters/readmodels/sqlite/readConnection.js';
import { openSqliteReadModelWriter } from '#app/adapters/readmodels/sqlite/writer.js';
import type { RecordQuery } from '#app/ports/readModels.js';
import { acmePlaces, at, contains, fill, id, insert, query, write } from '../../contract/readModelsFixture.js';

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

isCounted('in an order that rows are not in, each record of a page is read from one table', () => {
  // A page and one above it for each of 25, and some for the index and the schema.
  expect(pagesRead(query({ sort: [{ field: 'size', direction: 'asc' }] }))).toBeLessThan(75);
});

describe('page after page', () => {
  let connection: ReadConnection;
  let lister: Lister;
  /** How many entries each list passed over. */
  let passed: number[];

  beforeEach(() => {
    connection = new ReadConnection({ file, cacheMegabytes: 16 });
    lister = new Lister(connection);
    passed = [];
    const { tuples } = connection;
    connection.tuples = <Row>(sql: string) => {
      const statement = tuples.call(connection, sql) as ReturnType<typeof connection.tuples<Row>>;
      if (!sql.endsWith('OFFSET ?')) return statement;
      const all = (...cells: readonly unknown[]) => {
        passed.push(Number(cells.at(-1)));
        return statement.all(...(cells as Parameters<typeof statement.all>));
      };
      return Object.assign(Object.create(statement), { all });
    };
  });
  afterEach(() => connection.close());

  const page = (offset: number, more: Partial<RecordQuery> = {}) =>
    lister.list(acmePlaces, query({ sort: [{ field: 'size', direction: 'asc' }], offset, ...more }));
  const sizes = (offset: number, more: Partial<RecordQuery> = {}) =>
    page(offset, more).records.map((record) => JSON.parse(record).size);
  const from = (offset: number, count = 25) => Array.from({ length: count }, (_, n) => offset + n);

  test('the next one is gone to from where the one before ended, through the middle of the table to its end', () => {
    for (let offset = RECORDS / 2 - 100; offset < RECORDS; offset += 25) {
      expect(sizes(offset)).toEqual(from(offset, Math.min(25, RECORDS - offset)));
    }
    expect(passed.shift()).toBe(RECORDS / 2 - 100);
    expect(Math.max(...passed)).toBe(1);
  });

  test('the one before as well, where no page lies between', () => {
    expect(sizes(9_000)).toEqual(from(9_000));
    expect(sizes(8_975)).toEqual(from(8_975));
    expect(sizes(9_010)).toEqual(from(9_010));
    expect(passed).toEqual([RECORDS - 9_025, 1, RECORDS - 9_035]);
  });

  test('a first page is gone to as ever, and another order or a filter knows nothing of it', () => {
    page(0);
    page(5_000);
    page(1_200, { sort: [{ field: 'size', direction: 'desc' }] });
    page(5_025, { sort: [{ field: 'code', direction: 'asc' }] });
    page(50);
    expect(passed).toEqual([0, 5_000, 1_200, 5_025, 50]);
    expect(page(500, { filters: [contains('name', 'san')] }).records).toHaveLength(25);
  });

  test('once the table has changed nothing is known', async () => {
    expect(sizes(5_000)).toEqual(from(5_000));
    const writer = await openSqliteReadModelWriter({ file });
    const patch = (size: number) => ({ kind: 'patch', id: id(0), at: at(1), set: { size } }) as const;
    const apply = (size: number) =>
      write(writer, () => writer.applyToTable(acmePlaces, [patch(size)], { revision: 5, at: at(5) }));
    // The first of all is the last now.
    await apply(RECORDS * 2);
    expect(sizes(5_025)).toEqual(from(5_026));
    expect(passed).toEqual([5_000, 5_025]);
    await apply(0);
    await writer.close();
  });
});

isCounted('deep in the ties of a first term, the second one is gone through by its own index', () => {
  const asked = query({
    sort: ['open', 'size'].map((field) => ({ field, direction: 'asc' })),
    offset: RECORDS / 4,
  });
  expect(pagesRead(asked)).toBeLessThan(220);
});

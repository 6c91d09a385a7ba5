/** Rankings of large tables: when they are made and used, and what they cost at most. Pages are held against a naive list in test/property. */

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { COSTS } from '#app/adapters/readmodels/sqlite/query/costs.js';
import { Lister } from '#app/adapters/readmodels/sqlite/query/lister.js';
import { MAX_CHANGED_ROWS } from '#app/adapters/readmodels/sqlite/ranking/changedRows.js';
import type { MadeRanking } from '#app/adapters/readmodels/sqlite/ranking/ranking.js';
import {
  BYTES_A_ROW,
  makeRanking,
  type RankingName,
  Rankings,
} from '#app/adapters/readmodels/sqlite/ranking/ranking.js';
import { BYTES_OF_CHANGES, RankingMaker } from '#app/adapters/readmodels/sqlite/ranking/rankingMaker.js';
import { ReadConnection } from '#app/adapters/readmodels/sqlite/read/readConnection.js';
import { openSqliteReadModels } from '#app/adapters/readmodels/sqlite/store.js';
import { openSqliteReadModelWriter } from '#app/adapters/readmodels/sqlite/write/writer.js';
import { acmePlaces, at, contains, fill, found, id, insert, query, write } from '../../contract/readModelsFixture.js';

const RECORDS = 6_000;
const PAGE_BYTES = 4096;
/** A table of any size has rankings. */
const RANKED = { ...COSTS, rankedRows: 0, far: 100 };
const BY_SIZE = [{ field: 'size', direction: 'asc' }] as const;
const byCode = { tenant: 'acme', table: 1, column: 'c0' };
const bySize = { tenant: 'acme', table: 1, column: 'c2' };

const directory = mkdtempSync(join(tmpdir(), 'rankings-'));
const file = join(directory, 'readmodels.db');
let writer: Awaited<ReturnType<typeof openSqliteReadModelWriter>>;

beforeAll(async () => {
  writer = await openSqliteReadModelWriter({ file, smallRows: 0 });
  // Wide, so that to look into many rows is to read most pages of the table.
  const wide = '-'.repeat(150);
  const changes = Array.from({ length: RECORDS }, (_, n) => {
    const size = (n * 997) % RECORDS;
    return insert(n, { name: `${size < RECORDS * 0.95 ? 'Utrecht' : 'Rotterdam'} ${wide}`, size });
  });
  await fill(writer, changes);
}, 60_000);
afterAll(async () => {
  await writer.close();
  rmSync(directory, { recursive: true });
});

const patch = (ids: readonly number[], size: number) =>
  write(writer, () =>
    writer.applyToTable(
      acmePlaces,
      ids.map((n) => ({ kind: 'patch', id: id(n), at: at(9), set: { size } })),
      { revision: 9, at: at(9) },
    ),
  );

describe('a thread that answers lists', () => {
  let connection: ReadConnection;
  let wanted: RankingName[];
  let rankings: Rankings;
  let lister: Lister;
  beforeEach(() => {
    connection = new ReadConnection({ file, cacheMegabytes: 16 });
    wanted = [];
    rankings = new Rankings((name) => wanted.push(name));
    lister = new Lister(connection, RANKED, rankings);
  });
  afterEach(() => connection.close());

  const sizes = (offset: number) =>
    lister.list(acmePlaces, query({ sort: BY_SIZE, offset, limit: 3 })).records.map((text) => JSON.parse(text).size);
  const keep = (name: RankingName) => {
    const made = makeRanking(connection, name, { mostRows: RECORDS, onPiece: () => undefined });
    if (made !== undefined) rankings.keep(made);
  };

  test('wants one for pages far from both ends, and has no more need of it once it is there', () => {
    expect(sizes(99)).toEqual([99, 100, 101]);
    expect(sizes(RECORDS - 102)).toEqual([RECORDS - 102, RECORDS - 101, RECORDS - 100]);
    expect(wanted).toEqual([]);
    expect(sizes(3_000)).toEqual([3_000, 3_001, 3_002]);
    expect(wanted.splice(0)).toEqual([bySize]);
    keep(bySize);
    expect(sizes(3_001)).toEqual([3_001, 3_002, 3_003]);
    expect(wanted).toEqual([]);
  });

  test('goes on with one while rows change and are added, up to a limit', async () => {
    keep(bySize);
    const few = Array.from({ length: MAX_CHANGED_ROWS }, (_, n) => n);
    const before = few.map((n) => (n * 997) % RECORDS);
    await patch(few, -1);
    expect(sizes(3_000)[0]).toBeGreaterThan(0);
    expect(sizes(1_000)).toEqual([-1, -1, -1]);
    expect(wanted).toEqual([]);
    await patch([MAX_CHANGED_ROWS], -1);
    expect(sizes(1_000)).toEqual([-1, -1, -1]);
    expect(wanted).toEqual([bySize]);
    for (const n of [...few, MAX_CHANGED_ROWS]) await patch([n], before[n] ?? (n * 997) % RECORDS);
    expect(sizes(3_000)).toEqual([3_000, 3_001, 3_002]);
  });

  test('does not lose one to a clean-up that deletes nothing, or to a batch that only sees records again', async () => {
    keep(bySize);
    await write(writer, async () => {
      const seen = Array.from({ length: RECORDS }, (_, n) => id(n));
      await writer.applyToTable(acmePlaces, [{ kind: 'seen', batchId: 'one', ids: seen }], { revision: 9, at: at(9) });
      await writer.applyToTable(acmePlaces, [{ kind: 'cleanUp', batchId: 'one' }], { revision: 10, at: at(10) });
    });
    expect(sizes(3_000)).toEqual([3_000, 3_001, 3_002]);
    expect(wanted).toEqual([]);
  });

  test('wants none where the order of the filter itself is asked for, which begins and ends with it', () => {
    const filters = [{ kind: 'compares', field: 'size', is: 'gte', value: 10 } as const];
    const { records, total } = lister.list(acmePlaces, query({ filters, sort: BY_SIZE, offset: 3_000, limit: 1 }));
    expect([JSON.parse(records[0] ?? '').size, total]).toEqual([3_010, RECORDS - 10]);
    expect(wanted).toEqual([]);
  });

  test('wants none where most rows have gone: a set of their numbers would take too much', () => {
    const setNext = (row: number) => {
      const db = openSqlite(file);
      db.prepare('UPDATE catalog SET next_row = ?').run(row);
      db.close();
    };
    setNext(RECORDS * 17);
    expect(sizes(3_000)).toEqual([3_000, 3_001, 3_002]);
    expect(wanted).toEqual([]);
    setNext(RECORDS + 1);
    expect(sizes(3_000)).toEqual([3_000, 3_001, 3_002]);
    expect(wanted).toEqual([bySize]);
  });

  test('goes on rightly when a list was given up half-way', async () => {
    let left = Number.POSITIVE_INFINITY;
    const given = new ReadConnection({ file, cacheMegabytes: 16, isWanted: () => left-- > 0 });
    const own = new Rankings(() => undefined);
    const made = makeRanking(given, bySize, { mostRows: RECORDS, onPiece: () => undefined });
    if (made !== undefined) own.keep(made);
    const other = new Lister(given, RANKED, own);
    await patch([1, 2, 3], 0.5);
    for (let statements = 0; statements < 12; statements++) {
      left = statements;
      try {
        other.list(acmePlaces, query({ sort: BY_SIZE, offset: 500, limit: 3 }));
      } catch {
        // Nobody waits any more.
      }
    }
    left = Number.POSITIVE_INFINITY;
    const page = other.list(acmePlaces, query({ sort: BY_SIZE, offset: 1, limit: 4 }));
    const far = other.list(acmePlaces, query({ sort: BY_SIZE, offset: 2_000, limit: 3 }));
    given.close();
    expect(page.records.map((text) => JSON.parse(text).size)).toEqual([0.5, 0.5, 0.5, 1]);
    expect(far.records.map((text) => JSON.parse(text).size)).toEqual(sizes(2_000));
    await patch([1], 997);
    await patch([2], 1_994);
    await patch([3], 2_991);
  });

  const isCounted = existsSync('/proc/self/io') ? test : test.skip;
  isCounted('reads of the rows that match little more than its page', () => {
    const bytesRead = () => Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
    const asked = query({ filters: [contains('name', 'rotter')], sort: BY_SIZE });
    const pagesOf = (withRanking: boolean) => {
      const cold = new ReadConnection({ file, cacheMegabytes: 16 });
      const own = new Rankings(() => undefined);
      const made = makeRanking(connection, bySize, { mostRows: RECORDS, onPiece: () => undefined });
      if (withRanking && made !== undefined) own.keep(made);
      const before = bytesRead();
      const { total } = new Lister(cold, RANKED, own).list(acmePlaces, asked);
      const pages = (bytesRead() - before) / PAGE_BYTES;
      cold.close();
      expect(total).toBe(RECORDS / 20);
      return pages;
    };
    expect(pagesOf(true)).toBeLessThan(60);
    expect(pagesOf(false)).toBeGreaterThan(80);
  });
});

describe('the thread that makes them', () => {
  const names = (made: Iterable<MadeRanking>) => [...made].map(({ column }) => column);

  /** @param tables that are kept, of this size */
  function startMaker(tables: number, of = file) {
    const dropped: RankingName[] = [];
    let told: (made: MadeRanking) => void = () => undefined;
    const maker = new RankingMaker({
      file: of,
      maxBytes: (tables + 0.5) * (RECORDS * BYTES_A_ROW + BYTES_OF_CHANGES),
      onMade: (made) => told(made),
      onDropped: (name) => dropped.push(name),
    });
    const made = async (name: RankingName) => {
      const found = await new Promise<MadeRanking>((resolve) => {
        told = resolve;
        maker.want(name);
      });
      // Told before it is no longer wanted.
      await new Promise(setImmediate);
      return found;
    };
    return { maker, made, dropped };
  }

  test('makes room by what the tenant with the most has, the oldest first', async () => {
    const { maker, made, dropped } = startMaker(3);
    // By their tenants they are told apart; the file is the same.
    const ofOther = { ...bySize, tenant: 'beta' };
    await made(ofOther);
    await made(bySize);
    await made(byCode);
    await made({ ...bySize, column: 'id' });
    expect(dropped).toMatchObject([bySize]);
    expect([...maker.all()].map(({ tenant, column }) => [tenant, column])).toEqual([
      ['beta', 'c2'],
      ['acme', 'c0'],
      ['acme', 'id'],
    ]);
    await made({ ...bySize, tenant: 'gamma' });
    expect(dropped.at(-1)).toMatchObject(byCode);
    await maker.close();
  });

  test('rests for a tenant of which it made the same again, and not for others', async () => {
    const { maker, made } = startMaker(9);
    let now = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => (now += 10));
    await made(bySize);
    await made(bySize);
    maker.want(byCode);
    const other = await made({ ...bySize, tenant: 'beta' });
    expect(other.tenant).toBe('beta');
    expect(names(maker.all())).toEqual(['c2', 'c2']);
    now = 1e6;
    await made(byCode);
    clock.mockRestore();
    await maker.close();
  });

  test('makes those that are wanted, keeps as many as its memory takes, and says which it drops', async () => {
    const { maker, made, dropped } = startMaker(1);
    const first = await made(bySize);
    expect(first.rows).toHaveLength(RECORDS);
    expect([...new Set(first.rows)]).toHaveLength(RECORDS);
    expect(names(maker.all())).toEqual(['c2']);
    await made(byCode);
    expect(dropped).toMatchObject([bySize]);
    expect(names(maker.all())).toEqual(['c0']);
    await maker.close();
    maker.want(bySize);
    expect(names(maker.all())).toEqual(['c0']);
  });

  test('that fails is followed by another one, and closing does not wait for what it was to make', async () => {
    const later = join(directory, 'later', 'readmodels.db');
    const { maker } = startMaker(1, later);
    maker.want(bySize);
    await new Promise((resolve) => setTimeout(resolve, 300));
    mkdirSync(join(directory, 'later'));
    const db = openSqlite(file, { readonly: true });
    await db.backup(later);
    db.close();
    while (names(maker.all()).length === 0) {
      maker.want(bySize);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    maker.want(byCode);
    await maker.close();
    expect(names(maker.all())).toEqual(['c2']);
  }, 30_000);

  test('makes none of a table that is too large, gone, or small', () => {
    const connection = new ReadConnection({ file, cacheMegabytes: 1 });
    const make = (name: RankingName, mostRows: number) =>
      makeRanking(connection, name, { mostRows, onPiece: () => undefined });
    expect(make(bySize, RECORDS - 1)).toBeUndefined();
    expect(make({ tenant: 'acme', table: 99, column: 'c2' }, RECORDS)).toBeUndefined();
    connection.close();
  });
});

describe('the read models', () => {
  test('have one made when a list needs it, and lists of all threads go by it from then on', async () => {
    const want = jest.spyOn(RankingMaker.prototype, 'want');
    const readModels = await openSqliteReadModels({ file, readers: 2, costs: RANKED });
    const page = () => found(readModels, { sort: BY_SIZE, offset: 3_000, limit: 2 }, acmePlaces, 'size');
    const pages = [];
    do {
      want.mockClear();
      pages.push(...(await Promise.all([page(), page(), page(), page()])));
    } while (want.mock.calls.length > 0);
    await readModels.close();
    expect(new Set(pages.map((each) => JSON.stringify(each)))).toEqual(
      new Set([JSON.stringify({ records: [3_000, 3_001], total: RECORDS })]),
    );
    want.mockRestore();
  }, 30_000);
});

test('of the changed rows of a table only the latest are kept', async () => {
  const count = () => {
    const db = openSqlite(file, { readonly: true });
    const changed = Number(db.prepare('SELECT count(*) FROM changed_rows').pluck().get());
    db.close();
    return changed;
  };
  for (let round = 0; round < 3; round++) {
    await patch(
      Array.from({ length: RECORDS }, (_, n) => n),
      round,
    );
    expect(count()).toBeLessThan(RECORDS + 2 * MAX_CHANGED_ROWS);
  }
});

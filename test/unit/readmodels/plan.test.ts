/** Which way a list takes to the rows of a page, by the figures of its table, its filters and its sort. */
import { COSTS } from '#app/adapters/readmodels/sqlite/query/costs.js';
import { type PageFacts, planPage, planText, rankingWay } from '#app/adapters/readmodels/sqlite/query/plan.js';

const ID = { sql: 'id', indexed: true, descending: false } as const;
const NAME = { sql: 'c1', indexed: true, descending: false } as const;
const NOTES = { sql: 'c2', indexed: false, descending: false } as const;
const MILLION = { id: 7, tenant: 'acme', rowCount: 1_000_000, nextRow: 1_000_001 } as const;

/** The first page of 25 of a million records by name, without filters. */
const facts = (some: Partial<PageFacts> = {}): PageFacts => ({
  costs: COSTS,
  table: MILLION,
  filters: [],
  ranges: [],
  terms: [NAME, ID],
  skip: 0,
  wanted: 25,
  matches: { total: MILLION.rowCount, cost: MILLION.rowCount * COSTS.collected },
  ...some,
});
const trigrams = { how: 'scan' } as const;
const matching = (total: number, isLoaded = true): PageFacts['matches'] => ({
  total,
  cost: total * COSTS.collected,
  rows: { count: total, isLoaded },
});
const kinds = (of: PageFacts, isMade?: boolean) => planPage(of, isMade).ways.map(({ kind }) => kind);

test('a page of all records is read from the index of the sort', () => {
  expect(planPage(facts())).toMatchObject({ ways: [{ kind: 'range' }, { kind: 'collect' }], leavesTies: false });
});

test('a filter that the index of the sort looks up is a range of it; one that another index looks up is not', () => {
  expect(kinds(facts({ filters: [{ how: 'look up', index: 'c1' }], matches: matching(5_000) }))[0]).toBe('range');
  expect(kinds(facts({ filters: [{ how: 'look up', index: 'c3' }], matches: matching(500_000) }))[0]).toBe('walk');
});

test('matches that are many are found by a walk along the index, which ends in collecting', () => {
  expect(kinds(facts({ filters: [trigrams], matches: matching(400_000) }))).toEqual(['walk', 'collect']);
});

test('matches that are few are collected', () => {
  expect(kinds(facts({ filters: [trigrams], matches: matching(30) }))).toEqual(['collect']);
});

test('a sort without an index is collected', () => {
  expect(planPage(facts({ terms: [NOTES, ID] }))).toMatchObject({ ways: [{ kind: 'collect' }], leavesTies: true });
});

test('a walk tests entries by the set of the matches where that is known, else by their rows', () => {
  const test = (matches: PageFacts['matches']) => planPage(facts({ filters: [trigrams], matches })).ways[0];
  expect(test(matching(100_000))).toMatchObject({ kind: 'walk', test: 'row' });
  expect(test(matching(20_000))).toMatchObject({ kind: 'walk', test: 'set' });
  expect(test({ total: 20_000, cost: 20_000_000 })).toMatchObject({ kind: 'walk', test: 'row' });
});

test('a filter on the sorted column itself is tested by the entries of the index', () => {
  const filters = [{ how: 'scan', index: 'c1' }] as const;
  expect(planPage(facts({ filters, matches: matching(1_000) })).ways[0]).toMatchObject({ kind: 'walk', test: 'row' });
});

test('no walk passes more entries than its share of the cost of collecting, or than there are', () => {
  const [walk] = planPage(facts({ filters: [trigrams], matches: { total: 400_000, cost: 120_000 } })).ways;
  expect(walk).toMatchObject({ kind: 'walk', most: Math.ceil((120_000 * COSTS.walkShare) / COSTS.fetched) });
  const [long] = planPage(facts({ filters: [trigrams], matches: matching(999_999) })).ways;
  expect(long).toMatchObject({ most: expect.any(Number) });
  expect(long?.kind === 'walk' && long.most <= MILLION.rowCount).toBe(true);
});

test('a sort of several terms leaves ties', () => {
  expect(planPage(facts({ terms: [NAME, NOTES, ID] })).leavesTies).toBe(true);
  expect(planPage(facts({ terms: [NAME, { ...ID, descending: true }] })).leavesTies).toBe(true);
  expect(planPage(facts({ terms: [ID] })).leavesTies).toBe(false);
});

describe('rankings', () => {
  const far = facts({ skip: 500_000 });
  const name = { tenant: 'acme', table: 7, column: 'c1' };

  test('a far page of all records is read from a ranking; while it is missing, from the index, and it is named', () => {
    expect(kinds(far, true)).toEqual(['ranking', 'range', 'collect']);
    expect(planPage(far, false)).toMatchObject({ ways: [{ kind: 'range' }, { kind: 'collect' }], missing: name });
    expect(planPage(far).missing).toBeUndefined();
  });

  test('a filtered page may be found sooner by a short walk, which is tried first', () => {
    const dense = facts({ filters: [trigrams], matches: matching(400_000, false), skip: 100 });
    expect(kinds(dense, true)).toEqual(['walk', 'ranking', 'walk', 'collect']);
    const sparse = facts({ filters: [trigrams], matches: matching(16_000), skip: 8_000 });
    expect(kinds(sparse, true)[0]).toBe('ranking');
  });

  test.each<readonly [string, Partial<PageFacts>]>([
    ['near pages of all records', { skip: COSTS.far - 1 }],
    ['tables of few records', { table: { ...MILLION, rowCount: COSTS.rankedRows - 1 } }],
    ['tables of which most records were deleted', { table: { ...MILLION, rowCount: 60_000 } }],
    ['ranges of the index', { filters: [{ how: 'look up', index: 'c1' }] }],
    ['matches whose rows are not known', { filters: [trigrams], matches: { total: 5_000, cost: 1e9 } }],
    ['matches that are collected sooner', { filters: [trigrams], matches: matching(40) }],
    ['sorts of several terms', { terms: [NAME, NOTES, ID] }],
    ['ties of an earlier term', { ranges: ['c0 = ?'] }],
  ])('there is none for %s', (_, some) => {
    expect(rankingWay({ ...far, ...some })).toBeUndefined();
  });
});

test('a plan is one line of the log', () => {
  const dense = facts({ filters: [trigrams], matches: { total: 400_000, cost: 4_800_000 }, skip: 100 });
  expect(planText(dense, planPage(dense))).toBe(
    'by c1, id: walk by row to 240000 entries (3.8 ms), else collect (4800.0 ms)',
  );
  const far = facts({
    terms: [
      { ...NAME, descending: true },
      { ...ID, descending: true },
    ],
    skip: 500_000,
  });
  expect(planText(far, planPage(far, false))).toBe(
    'by c1 desc, id desc: range (100.0 ms), else collect (12000.0 ms); a ranking by c1 is missing',
  );
});

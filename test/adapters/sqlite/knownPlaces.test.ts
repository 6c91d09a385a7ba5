/** What is remembered of the places of pages is little, whatever the values. */
import { KnownPlaces } from '#app/adapters/readmodels/sqlite/query/knownPlaces.js';
import type { ReadTable } from '#app/adapters/readmodels/sqlite/readConnection.js';

const table = { id: 1, shape: { version: 1 }, changes: 7, revision: 3, lastEventAt: 't' } as ReadTable;
const term = { sql: 'c1', cells: [], indexed: true, descending: false };
const at = (position: number, value: string | number | null = position) => ({ position, value, id: Buffer.of(1) });

test('the furthest place up to a position, of the same order and state of the table', () => {
  const known = new KnownPlaces({ near: 10 } as ConstructorParameters<typeof KnownPlaces>[0]);
  for (const position of [50, 20, 30]) known.note(table, term, at(position));
  expect(known.upTo(table, term, 45)).toEqual(at(30));
  expect(known.upTo(table, term, 30)).toEqual(at(30));
  expect(known.upTo(table, term, 19)).toBeUndefined();
  expect(known.upTo(table, { ...term, descending: true }, 45)).toBeUndefined();
  expect(known.upTo(table, { ...term, sql: 'c2' }, 45)).toBeUndefined();
  expect(known.upTo({ ...table, changes: 8 }, term, 45)).toBeUndefined();
});

test('near the start, without a value, and of long values nothing is noted; of many places the last ones', () => {
  const known = new KnownPlaces({ near: 10 } as ConstructorParameters<typeof KnownPlaces>[0]);
  known.note(table, term, at(9));
  known.note(table, term, at(11, null));
  known.note(table, term, at(12, 'x'.repeat(256)));
  expect(known.upTo(table, term, 1_000)).toBeUndefined();
  known.note(table, term, at(13, 'x'.repeat(255)));
  expect(known.upTo(table, term, 1_000)?.position).toBe(13);
  for (let position = 100; position < 164; position++) known.note(table, term, at(position));
  expect(known.upTo(table, term, 50)).toBeUndefined();
  expect(known.upTo(table, term, 100)?.position).toBe(100);
});

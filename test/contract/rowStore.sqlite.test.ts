import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeIndex } from '#app/adapters/rows/sqlite/indexes.js';
import { openRowReads } from '#app/adapters/rows/sqlite/reads.js';
import { openRowWriter } from '#app/adapters/rows/sqlite/writer.js';
import type { FieldValue } from '#app/domain/assetTypes/fieldTypes.js';
import { matchText, type Row } from '#app/domain/spaces.js';
import {
  type Condition,
  copyOf,
  type FieldCondition,
  type PageQuery,
  RowsLostError,
  RowsUnavailableError,
  type RowWrite,
  type RowWriter,
  type Slice,
} from '#app/ports/rowStore.js';
import { Cancellation } from '#app/supervision/cancellation.js';
import { seeded } from '../faults/seeded.js';
import { MemoryRows } from '../support/memoryRows.js';
import { describeRows } from './rowStore.js';
import { by, idsOf, places, Tenant } from './rowStoreFixture.js';

const directory = mkdtempSync(join(tmpdir(), 'rows-'));
afterAll(() => rmSync(directory, { recursive: true }));

describeRows('SQLite', async () => ({
  writer: openRowWriter({ directory }),
  reads: openRowReads({ directory, readers: 2 }),
}));

describe('indexes', () => {
  const model = new MemoryRows();
  const writer = openRowWriter({ directory });
  const reads = openRowReads({ directory, readers: 1 });
  afterAll(async () => {
    await reads.close();
    await writer.close();
  });

  /** Both at once. */
  const both: RowWriter = Object.assign(Object.create(writer), {
    apply: async (tenant: string, slice: Slice) =>
      (await model.apply(tenant, slice)) && (await writer.apply(tenant, slice)),
  });
  const acme = new Tenant({ writer: both, reads }, 'indexed');
  const random = seeded(7);
  const oneOf = <Each>(all: readonly Each[]): Each => all[Math.floor(random() * all.length)] ?? (all[0] as Each);
  const WORDS = [
    'Aachen',
    'aachen',
    'Ångström',
    'straße',
    'STRASSE',
    'Ωmega',
    'ωmega',
    '100%',
    '"x"',
    '😀 smile',
    'zz',
    'a',
    ...['Ä', 'a\u0308', 'İ', 'ΟΣ', 'ς', '_%', "'", '\\', 'é', 'e\u0301', 'x'.repeat(30_000)],
  ];
  const fieldsOf = (n: number) => ({
    code: `c${n}`,
    ...(random() < 0.8 && { name: `${oneOf(WORDS)} ${oneOf(WORDS)}` }),
    ...(random() < 0.8 && { size: Math.round(random() * 40) / 4 }),
    ...(random() < 0.5 && { open: random() < 0.5 }),
    ...(random() < 0.5 && { tags: [oneOf(WORDS), 'two'] }),
    ...(random() < 0.5 && { f20: oneOf(WORDS) }),
  });
  const conditionOf = (): FieldCondition => {
    const field = oneOf(['name', 'size', 'open', 'tags', 'f20', 'code']);
    const value = oneOf<FieldValue>([
      fieldsOf(Math.floor(random() * 300))[field as 'name'] ?? null,
      oneOf(WORDS),
      2,
      true,
    ]);
    const part = [...(matchText(value) ?? 'a')].slice(0, oneOf([1, 2, 3, 9])).join('');
    return oneOf<FieldCondition>([
      { kind: 'contains', field, anyOf: random() < 0.3 ? [part, 'two'] : [part] },
      { kind: 'equals', field, anyOf: random() < 0.3 ? [value, null] : [value] },
      { kind: 'differs', field, anyOf: [value] },
      { kind: 'compares', field: 'size', is: oneOf(['gt', 'gte', 'lt', 'lte']), value: Math.round(random() * 10) },
      { kind: 'compares', field: 'name', is: oneOf(['gt', 'gte', 'lt', 'lte']), value: matchText(oneOf(WORDS)) ?? '' },
      { kind: 'null', field, isNull: random() < 0.5 },
    ]);
  };
  const queryOf = (): PageQuery => {
    const sorts = [
      'n',
      'n desc',
      'name|id',
      'name desc|id desc',
      'size desc|name|id',
      'updated_at desc|n desc',
      'f20|id',
      'id desc',
    ];
    return {
      conditions: Array.from(
        { length: oneOf([0, 1, 1, 2]) },
        (): Condition => (random() < 0.2 ? { kind: 'any', anyOf: [conditionOf(), conditionOf()] } : conditionOf()),
      ),
      sort: by(...oneOf(sorts).split('|')),
      offset: oneOf([0, 0, 7, 100, 250]),
      limit: oneOf([5, 25]),
      withTotal: random() < 0.7,
      maxCharacters: 1e6,
      ...(random() < 0.2 && { at: acme.position - oneOf([0, 1, 3]) }),
    };
  };
  const compare = async (count: number) => {
    for (let i = 0; i < count; i += 1) {
      const query = queryOf();
      const [found, expected] = [await reads.page(acme.places, query), await model.reads.page(acme.places, query)];
      expect({ query, ...found, rows: idsOf(found.rows) }).toEqual({ query, ...expected, rows: idsOf(expected.rows) });
    }
  };
  const rows = new Map<number, Row>();
  const write = async (first: number) => {
    const writes: RowWrite[] = [];
    for (let n = first; n < first + 60; n += 1) {
      const was = rows.get(n);
      const next = acme.row(fieldsOf(n), was);
      rows.set(n, next);
      writes.push(acme.put(next, was));
    }
    await acme.apply(...writes);
    const gone = rows.get(first + 3);
    rows.delete(first + 3);
    if (gone !== undefined) await acme.apply({ kind: 'delete', space: 'places', was: gone, to: acme.position + 1 });
  };

  test('lists are as those of the model, without indexes, with them, and after further writes', async () => {
    await acme.apply({ kind: 'define', assetType: places });
    for (const first of [0, 60, 120, 180]) await write(first);
    await compare(150);
    const file = join(directory, 'indexed.db');
    const columns = ['s1, id', 's2, s1 DESC, id', 's0, id', 's3, id', 's4, id', 'updated, row', 's2, id'];
    for (const spec of [...columns, 'text s0', 'text s1', 'text s4']) await makeIndex(file, 'places', spec);
    await compare(300);
    for (const first of [30, 200, 240]) await write(first);
    await compare(300);
    const ids = [...rows.values()].flatMap(({ id }, i) => (i % 5 === 0 ? [id] : []));
    await acme.apply({ kind: 'touch', space: 'places', ids, batch: 'kept' });
    await acme.apply({ kind: 'cleanUp', space: 'places', batch: 'kept', to: acme.position + 1 });
    await compare(150);
  });
});

describe('a file of rows', () => {
  const writer = openRowWriter({ directory });
  const reads = openRowReads({ directory, readers: 1 });
  afterAll(async () => {
    await reads.close();
    await writer.close();
  });

  test('that is damaged stops its tenant, which is filled again', async () => {
    const acme = new Tenant({ writer, reads }, `spoilt-${randomUUID()}`);
    await acme.apply({ kind: 'define', assetType: places });
    await acme.fill({ code: 'a' });
    // The next process finds it so.
    const before = openRowWriter({ directory });
    await before.apply(copyOf(acme.name), { writes: [], position: 1 });
    await before.swap(acme.name);
    await before.close();
    writeFileSync(join(directory, `${acme.name}.db`), 'this is no database'.repeat(1_000));
    const another = openRowWriter({ directory });
    const readers = openRowReads({ directory, readers: 1 });
    const tenant = new Tenant({ writer: another, reads: readers }, acme.name);
    await expect(tenant.page({})).rejects.toThrow(acme.name);
    expect(await another.keep(undefined)).toEqual([expect.any(RowsLostError)]);
    expect((await another.tenants()).get(acme.name)).toMatchObject({ position: 0, state: 'filling', rows: 0 });
    await expect(tenant.page({})).rejects.toThrow(RowsUnavailableError);
    // What was computed on the rows that are gone.
    const late = another.apply(acme.name, { writes: [], position: 99, after: 98 });
    await expect(late).rejects.toThrow(RowsLostError);
    await tenant.apply({ kind: 'define', assetType: places });
    const [row] = await tenant.fill({ code: 'a' });
    await another.mark(acme.name, undefined);
    expect(await tenant.ids({})).toEqual([row.id]);
    await readers.close();
    await another.close();
  });

  test('a long list ends when nobody waits for it', async () => {
    const acme = new Tenant({ writer, reads }, 'cancelled');
    await acme.apply({ kind: 'define', assetType: places });
    await acme.fill(...Array.from({ length: 5_000 }, (_, n) => ({ code: `c${n}`, notes: 'x'.repeat(100) })));
    const leaving = new Cancellation();
    const left = new Error('left');
    const query = { conditions: [], sort: by('n'), offset: 0, limit: 9, withTotal: true, maxCharacters: 1e6 };
    const notes = { kind: 'contains', field: 'notes', anyOf: ['y'] } as const;
    // There is one thread for all.
    const all = Array.from({ length: 50 }, (_, n) =>
      reads.page(acme.places, { ...query, conditions: [notes], offset: n }, leaving).catch((error: unknown) => error),
    );
    leaving.cancel(left);
    expect(await Promise.all(all)).toEqual(all.map(() => left));
    expect((await acme.page({ limit: 1 })).rows).toHaveLength(1);
  });
});

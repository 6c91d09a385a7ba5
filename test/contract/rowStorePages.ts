import type { FieldValue } from '#app/domain/assetTypes/fieldTypes.js';
import type { Row } from '#app/domain/spaces.js';
import type { Condition, PageQuery } from '#app/ports/rowStore.js';
import { by, idsOf, stored, type Tenant, time } from './rowStoreFixture.js';

/** @param tenant the one of the test, whose table has no rows yet */
export function describeRowPages(tenant: () => Tenant): void {
  describe('pages', () => {
    let acme: Tenant;
    let all: readonly Row[];
    beforeEach(async () => {
      acme = tenant();
      all = await acme.fill(
        { code: 'a', name: 'Straße', size: 10, open: true, notes: 'x'.repeat(50), f20: 'Zulu' },
        { code: 'b', name: 'STRASSE', size: 9, open: false },
        { code: 'c', size: -1.5, tags: ['one', 'two'] },
        { code: 'd', name: 'Ωmega', size: 10, f20: 'alpha' },
        { code: 'e', name: 'ωMEGA', open: true, tags: ['two'], f20: 'Alpha' },
        { code: 'f', name: '100% \\_x', size: 0 },
        { code: 'g', name: '😀', size: 1e21 },
        { code: 'h', name: '\ufffd', size: 2 },
      );
    });
    const row = (n: number): Row => all[n] ?? acme.row({});
    const codes = async (query: Partial<PageQuery>) =>
      (await acme.page(query)).rows.map(({ data }) => JSON.parse(data).code).join('');
    const where = (...conditions: Condition[]) => codes({ conditions });

    test('are in the order of creation, in both directions', async () => {
      expect(await codes({})).toBe('abcdefgh');
      expect(await codes({ sort: by('n desc') })).toBe('hgfedcba');
      expect(await codes({ sort: by('n desc'), offset: 2, limit: 3 })).toBe('fed');
      expect(await codes({ offset: 7 })).toBe('h');
      expect(await codes({ offset: 8 })).toBe('');
    });

    test('go on behind a number', async () => {
      const behind = await acme.n(row(2));
      expect(await codes({ behind, limit: 2 })).toBe('de');
      expect(await codes({ behind, sort: by('n desc') })).toBe('ba');
      expect(await codes({ behind, conditions: [{ kind: 'null', field: 'name', isNull: false }] })).toBe('defgh');
    });

    test('are sorted: null first, numbers as numbers, folded text by code points', async () => {
      expect(await codes({ sort: by('size', 'n') })).toBe('ecfhbadg');
      expect(await codes({ sort: by('size desc', 'n') })).toBe('gadbhfce');
      expect(await codes({ sort: by('name', 'n') })).toBe('cfbadehg');
      expect(await codes({ sort: by('open desc', 'name desc', 'n') })).toBe('eabghdfc');
      expect(await codes({ sort: by('tags', 'n') })).toBe('abdfghce');
      expect(await codes({ sort: by('f20', 'n desc') })).toBe('hgfcbeda');
      expect(await codes({ sort: by('created_at desc', 'n') })).toBe('abcdefgh');
    });

    test('break ties by id, in the direction of the last term', async () => {
      const bySize = [row(0), row(3)].map(({ id }) => id).sort();
      const tens: Condition[] = [{ kind: 'equals', field: 'size', anyOf: [10] }];
      expect(await acme.ids({ conditions: tens, sort: by('size', 'id') })).toEqual(bySize);
      expect(await acme.ids({ conditions: tens, sort: by('size', 'id desc') })).toEqual(bySize.toReversed());
      expect(await acme.ids({ sort: by('id desc') })).toEqual(idsOf(all).sort().reverse());
    });

    test('contain a text of any length', async () => {
      const contains = (field: string, ...anyOf: string[]) => where({ kind: 'contains', field, anyOf });
      expect(await contains('name', 'straß')).toBe('a');
      expect(await contains('name', 's')).toBe('ab');
      expect(await contains('name', 'ωm')).toBe('de');
      expect(await contains('name', 'ωmeg', 'rasse')).toBe('bde');
      expect(await contains('name', '%')).toBe('f');
      expect(await contains('name', '\\_x')).toBe('f');
      expect(await contains('name', '😀')).toBe('g');
      expect(await contains('size', '1')).toBe('acdg');
      expect(await contains('size', '1e+21')).toBe('g');
      expect(await contains('open', 'tru')).toBe('ae');
      expect(await contains('tags', '","two')).toBe('c');
      expect(await contains('f20', 'lph')).toBe('de');
      expect(await contains('name', 'nothing')).toBe('');
      expect(await where({ kind: 'contains', field: 'name', anyOf: [] })).toBe('');
    });

    test('equal a value exactly', async () => {
      const equals = (field: string, ...anyOf: FieldValue[]) => where({ kind: 'equals', field, anyOf });
      expect(await equals('name', 'STRASSE', 'straße')).toBe('b');
      expect(await equals('size', 10, 9)).toBe('abd');
      expect(await equals('size', '10')).toBe('');
      expect(await equals('open', true)).toBe('ae');
      expect(await equals('open', 1)).toBe('');
      expect(await equals('name', null, 'Straße')).toBe('ac');
      expect(await equals('tags', ['two'])).toBe('e');
      expect(await equals('f20', 'Alpha')).toBe('e');
      expect(await equals('created_at', row(1).created)).toBe('abcdefgh');
      expect(await where({ kind: 'differs', field: 'size', anyOf: [10, null] })).toBe('bcfgh');
      expect(await where({ kind: 'differs', field: 'name', anyOf: ['Straße'] })).toBe('bcdefgh');
    });

    test('compare values, and null is on neither side', async () => {
      const compares = (field: string, is: 'gt' | 'gte' | 'lt' | 'lte', value: string | number) =>
        where({ kind: 'compares', field, is, value });
      expect(await compares('size', 'gt', 9)).toBe('adg');
      expect(await compares('size', 'gte', 9)).toBe('abdg');
      expect(await compares('size', 'lt', 0)).toBe('c');
      expect(await compares('size', 'lte', 0)).toBe('cf');
      expect(await compares('name', 'lt', 'strasse')).toBe('f');
      expect(await compares('name', 'gte', '\ufffd')).toBe('gh');
      expect(await compares('updated_at', 'lt', time(acme.position))).toBe('');
      expect(await compares('created_at', 'lte', time(acme.position))).toBe('abcdefgh');
      expect(await where({ kind: 'null', field: 'size', isNull: true })).toBe('e');
      expect(await where({ kind: 'null', field: 'created_at', isNull: true })).toBe('');
    });

    test('hold all conditions, and one of those of `any`', async () => {
      expect(
        await where(
          { kind: 'compares', field: 'size', is: 'gt', value: 1 },
          {
            kind: 'any',
            anyOf: [
              { kind: 'contains', field: 'name', anyOf: ['stra'] },
              { kind: 'equals', field: 'f20', anyOf: ['alpha'] },
            ],
          },
        ),
      ).toBe('abd');
      const [from = '', to = ''] = [row(0), row(4)].map(({ id }) => id).sort();
      expect((await acme.ids({ conditions: [{ kind: 'ids', from, to }] })).toSorted()).toEqual(
        idsOf(all)
          .filter((id) => from <= id && id <= to)
          .sort(),
      );
      expect(await where({ kind: 'ids', from: row(3).id, to: row(3).id })).toBe('d');
    });

    test('have a total, also behind the last row, and only if it is asked for', async () => {
      const conditions: Condition[] = [{ kind: 'contains', field: 'name', anyOf: ['s', 'ω'] }];
      expect(await acme.page({ conditions, limit: 1, withTotal: true })).toMatchObject({ total: 4 });
      expect(await acme.page({ conditions, offset: 9, withTotal: true })).toMatchObject({ total: 4, rows: [] });
      expect((await acme.page({ conditions })).total).toBeUndefined();
      expect((await acme.page({ withTotal: true, limit: 0 })).total).toBe(8);
      await acme.fill({ code: 'i', name: 'S' });
      expect(await acme.page({ conditions, withTotal: true })).toMatchObject({ total: 5 });
    });

    test('end before the row with which they are too long', async () => {
      const length = (n: number) => JSON.stringify(row(n).fields).length;
      expect(await codes({ maxCharacters: 1 })).toBe('a');
      expect(await codes({ maxCharacters: length(0) + length(1) })).toBe('ab');
      expect(await codes({ maxCharacters: length(0) + length(1) - 1 })).toBe('a');
      expect(await codes({ sort: by('name', 'n'), maxCharacters: 1 })).toBe('c');
    });

    test('show the rows as they were', async () => {
      const before = acme.position;
      await acme.apply(
        acme.put(acme.row({ code: 'a', name: 'Zz', size: 99 }, { id: row(0).id }), row(0)),
        { kind: 'delete', space: 'places', was: row(1), to: before + 1 },
        acme.put(acme.row({ code: 'b', name: 'Aa' })),
      );
      const now = acme.position;
      await acme.apply({ kind: 'delete', space: 'places', was: row(2), to: now + 1 });
      expect(await codes({ at: before })).toBe('abcdefgh');
      expect(await codes({ at: before - 1 })).toBe('');
      expect(await codes({ at: now })).toBe('acdefghb');
      expect(await codes({ at: acme.position })).toBe('adefghb');
      expect(await codes({ at: before, sort: by('name desc', 'n'), limit: 3 })).toBe('ghd');
      expect(await codes({ at: now, sort: by('name', 'n'), limit: 3 })).toBe('cfb');
      const conditions: Condition[] = [{ kind: 'contains', field: 'name', anyOf: ['str', 'zz'] }];
      expect(await acme.page({ at: before, conditions, withTotal: true, limit: 1 })).toMatchObject({
        total: 2,
        rows: [stored(row(0))],
      });
      expect(await codes({ at: now, conditions })).toBe('a');
      expect(await codes({ at: before, behind: await acme.n(row(5)) })).toBe('gh');
      const query = { ids: [row(0).id, row(1).id], keys: ['c'] };
      expect((await acme.rows({ ...query, at: before })).rows.map(({ key }) => key).sort()).toEqual(['a', 'b', 'c']);
      expect((await acme.rows({ ...query, at: now })).rows.map(({ key }) => key).sort()).toEqual(['a', 'c']);
      expect((await acme.rows(query)).rows.map(({ key }) => key).sort()).toEqual(['a']);
    });
  });

  test('states are found by where they end or begin, in pages', async () => {
    const acme = tenant();
    const [a, b] = await acme.fill({ code: 'a', size: 1 }, { code: 'b', size: 1 });
    const a2 = acme.row({ code: 'a', size: 2 }, { id: a.id });
    await acme.apply(acme.put(a2, a), acme.put(acme.row({ code: 'b', size: 2 }, { id: b.id }), b));
    await acme.apply(acme.put(acme.row({ code: 'a', size: 3 }, { id: a.id }), a2));
    await acme.apply({
      kind: 'delete',
      space: 'places',
      was: acme.row({ code: 'a', size: 3 }, { id: a.id, back: 1 }),
      to: 5,
    });
    const found = async (query: Parameters<Tenant['versions']>[0]) =>
      (await acme.versions(query)).map(({ key, from, to }) => `${key}${from}-${to}`).join(' ');
    expect(await found({ ended: [0, 5] })).toBe('a2-3 b2-3 a3-4 a4-5');
    expect(await found({ ended: [2, 4], limit: 2 })).toBe('a2-3 b2-3');
    expect(await found({ begun: [2, 4] })).toBe('a3-4 b3-undefined a4-5');
    expect(await found({ begun: [1, 3], how: 'present' })).toBe('b3-undefined');
    expect(await found({ id: a.id })).toBe('a4-5 a3-4 a2-3');
    expect(await found({ id: b.id })).toBe('b3-undefined b2-3');
    expect(await found({ id: b.id, limit: 1 })).toBe('b3-undefined');
    expect(await found({ id: a.id, how: 'deleted' })).toBe('a4-5');
    const n = await acme.n(b);
    expect(await found({ ended: [0, 5], behind: [3, n - 1] })).toBe('b2-3 a3-4 a4-5');
    expect(await found({ ended: [0, 5], behind: [3, n] })).toBe('a3-4 a4-5');
    expect(await found({ begun: [0, 5], behind: [3, n - 1] })).toBe('b3-undefined a4-5');
    expect(await found({ id: a.id, behind: [4, 1e9] })).toBe('a3-4 a2-3');
  });
}

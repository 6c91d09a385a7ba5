import { MAX_FILTER_VALUES } from '#app/domain/limits.js';
import type { FieldFilter } from '#app/queries/conditions.js';
import { Cancellation } from '#app/supervision/cancellation.js';
import type { RecordChange } from '../support/writtenRows.js';
import {
  acmePlaces,
  at,
  contains,
  fill,
  found,
  id,
  insert,
  type OpenQueries,
  query,
  recordsOn,
  write,
} from './queriesFixture.js';

type Opened = Awaited<ReturnType<OpenQueries>>;

const unknown = { tenant: 'acme', table: 'unheard_of' };

export function describeLists(name: string, open: OpenQueries): void {
  describe(`read models, lists: ${name}`, () => {
    let reads: Opened['reads'];
    let writer: Opened['writer'];

    beforeEach(async () => {
      ({ reads, writer } = await open());
    });

    test('of an unknown or empty table are empty', async () => {
      expect(await found(reads, {}, unknown)).toEqual({ records: [], total: 0 });
      await fill(writer, []);
      expect(await found(reads, {})).toEqual({ records: [], total: 0 });
    });

    test('tell the state of the table, where there is one: each change makes another, and other tables none', async () => {
      const state = () => reads.tableState(acmePlaces);
      expect(await reads.tableState(unknown)).toBeUndefined();
      await fill(writer, [insert(1, { size: 1 })]);
      const first = await state();
      expect((await reads.list(acmePlaces, query())).state).toBe(first);
      await fill(writer, [insert(2, {})], { tenant: 'globex', table: 'places' });
      expect(await state()).toBe(first);
      await fill(writer, [insert(3, {})]);
      if (first !== undefined) expect(await state()).not.toBe(first);
      expect((await reads.list(acmePlaces, query())).state).toBe(await state());
    });

    test('filter by a part of the text, literally, without regard to case', async () => {
      await fill(
        writer,
        ['100% Cotton', 'a_b\\c', 'O\'Brien "x"', 'ÅNGSTRÖM', null, 'ΟΔΟΣ', '𝒳𝒴𝒵 🚚'].map((name, n) =>
          insert(n, { name }),
        ),
      );
      const matches = async (...anyOf: string[]) =>
        (await found(reads, { filters: [contains('name', ...anyOf)] })).records.join(' ');
      expect(await matches('%')).toBe('C0');
      expect(await matches('0% c')).toBe('C0');
      expect(await matches('_')).toBe('C1');
      expect(await matches('_B\\')).toBe('C1');
      expect(await matches('o\'brien "')).toBe('C2');
      expect(await matches('ångström')).toBe('C3');
      expect(await matches('ö')).toBe('C3');
      expect(await matches('οδοσ')).toBe('C5');
      expect(await matches('ΔΟς')).toBe('C5');
      expect(await matches('𝒴𝒵 🚚')).toBe('C6');
      expect(await matches('🚚')).toBe('C6');
      expect(await matches('cotton', 'brien', 'nowhere')).toBe('C0 C2');
    });

    test('filter by a long text, of which all counts', async () => {
      const name = (end: string) => `${'Rotterdam Alexander '.repeat(10)}${end}`;
      await fill(writer, [insert(1, { name: name('Noord') }), insert(2, { name: name('Zuid') })]);
      const matches = async (...anyOf: string[]) =>
        (await found(reads, { filters: [contains('name', ...anyOf)] })).records.join(' ');
      expect(await matches(name('noord'))).toBe('C1');
      expect(await matches(name('zuid'), 'x'.repeat(250))).toBe('C2');
      expect(await matches(name(''))).toBe('C1 C2');
      expect(await matches(...Array.from({ length: 90 }, (_, n) => name(String(n))))).toBe('');
    });

    test('filter what is not text by a part of its JSON text', async () => {
      await fill(
        writer,
        [12.5, 112.55, 3, null].map((size, n) => insert(n, { size, open: n === 0 })),
      );
      expect(await found(reads, { filters: [contains('size', '12.5')] })).toMatchObject({
        records: ['C0', 'C1'],
      });
      expect(await found(reads, { filters: [contains('size', '3')] })).toMatchObject({ records: ['C2'] });
      expect(await found(reads, { filters: [contains('open', 'TRU')] })).toMatchObject({ records: ['C0'] });
    });

    test('give behind a record what was created after it, whatever else comes and goes meanwhile', async () => {
      const batchOf = (n: number) => (n % 3 === 0 ? 'one' : 'two');
      await fill(
        writer,
        Array.from({ length: 20 }, (_, n) => insert(n, { name: n % 2 === 0 ? 'even' : 'odd' }, batchOf(n))),
      );
      const codes: string[] = [];
      let behind: number | undefined;
      for (let revision = 5; revision === 5 || behind !== undefined; revision++) {
        const asked = { filters: [], direction: 'asc', behind, limit: 4 } as const;
        const page = await reads.listBehind(acmePlaces, asked);
        codes.push(...recordsOn<{ code: string }>(page).map(({ code }) => code));
        behind = page.next;
        await write(writer, () =>
          writer.applyToTable(
            acmePlaces,
            [
              { kind: 'patch', id: id(3), at: at(100 + revision), set: { name: 'later' } },
              { ...insert(100 + revision, {}), at: at(revision - 5), batchId: 'one' } as RecordChange,
              ...(revision === 6 ? [{ kind: 'cleanUp', batchId: 'one' } as const] : []),
            ],
            { revision, at: at(revision) },
          ),
        );
      }
      // Those of the second batch that had not come when they were deleted do not come.
      expect(codes.filter((code) => Number(code.slice(1)) < 100)).toEqual(
        Array.from({ length: 20 }, (_, n) => n)
          .filter((n) => n < 8 || batchOf(n) === 'one')
          .map((n) => `C${n}`),
      );
      expect(new Set(codes).size).toBe(codes.length);
      const even = { filters: [contains('name', 'even')], direction: 'desc', limit: 25 } as const;
      const { next } = await reads.listBehind(acmePlaces, { ...even, limit: 1 });
      await write(writer, () =>
        writer.applyToTable(acmePlaces, [{ kind: 'cleanUp', batchId: 'none' }], { revision: 99, at: at(99) }),
      );
      expect(await reads.listBehind(acmePlaces, { ...even, behind: next })).toEqual({ records: '', next: undefined });
      expect(await reads.listBehind(unknown, even)).toEqual({ records: '' });
    });

    test('find what one of several filters finds, each once, and all others as well', async () => {
      await fill(
        writer,
        ['Rotterdam', 'Amsterdam', 'Dam', null, 'Delft'].map((name, n) => insert(n, { name, size: n, open: n > 0 })),
      );
      const one = async (...anyOf: readonly FieldFilter[]) =>
        (await found(reads, { filters: [{ kind: 'any', anyOf }] })).records.join(' ');
      const dam = { kind: 'contains', field: 'name', anyOf: ['DAM'] } as const;
      const size = (...anyOf: number[]) => ({ kind: 'equals', field: 'size', anyOf }) as const;
      const code = { kind: 'contains', field: 'code', anyOf: ['C3'] } as const;
      const begins = (text: string) => ({ kind: 'begins', field: 'id', with: text }) as const;
      expect(await one(dam, code)).toBe('C0 C1 C2 C3');
      expect(await one(dam, size(2, 4))).toBe('C0 C1 C2 C4');
      expect(await one(size(9), size(3))).toBe('C3');
      expect(await one(size(9), begins(id(4)))).toBe('C4');
      expect(await one(begins(id(1).slice(0, 30).toUpperCase()), code)).toBe('C0 C1 C2 C3 C4');
      expect(await one(begins('0198c1f2-1'), begins('dam'), size(9))).toBe('');
      expect(await one(size(9), { kind: 'null', field: 'name', isNull: true })).toBe('C3');
      const open = { kind: 'equals', field: 'open', anyOf: [true] } as const;
      const filters = [open, { kind: 'any', anyOf: [dam, size(3)] } as const];
      expect(await found(reads, { filters, limit: 2 })).toEqual({ records: ['C1', 'C2'], total: 3 });
      expect(await found(reads, { filters: [begins(id(3))] })).toEqual({ records: ['C3'], total: 1 });
    });

    test('end with the reason when they are cancelled; the next is answered', async () => {
      await fill(writer, [insert(1, { name: 'needle' })]);
      const reason = new Error('left');
      const cancellation = new Cancellation();
      const asked = reads.list(acmePlaces, query({ filters: [contains('name', 'dle')] }), cancellation);
      cancellation.cancel(reason);
      await expect(asked).rejects.toBe(reason);
      await expect(reads.list(acmePlaces, query(), cancellation)).rejects.toBe(reason);
      expect(await found(reads, {})).toEqual({ records: ['C1'], total: 1 });
    });

    test('take a filter of as many values as there may be', async () => {
      await fill(writer, [insert(1, { name: 'needle' }), insert(2, { name: 'hay' })]);
      for (const length of [1, 3, 6]) {
        const many = Array.from({ length: MAX_FILTER_VALUES - 1 }, (_, n) => `${n}#####`.slice(0, length));
        const anyOf = [...many, 'needle'.slice(0, length)];
        expect(await found(reads, { filters: [contains('name', ...anyOf)] })).toEqual({
          records: ['C1'],
          total: 1,
        });
      }
    });
  });
}

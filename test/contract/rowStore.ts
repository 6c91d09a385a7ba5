/** What every storage of rows does. Each engine runs it. */
import { randomUUID } from 'node:crypto';
import type { FieldValue } from '#app/domain/assetTypes/fieldTypes.js';
import { copyOf, RowsUnavailableError, type RowWrite, type StoredRow } from '#app/ports/rowStore.js';
import { dumpOf } from '../support/dumpOf.js';
import { by, idsOf, type OpenRows, places, type RowsUnderTest, stored, Tenant, time } from './rowStoreFixture.js';
import { describeRowPages } from './rowStorePages.js';

export function describeRows(engine: string, open: OpenRows): void {
  describe(`rows on ${engine}`, () => {
    let store: RowsUnderTest;
    let acme: Tenant;
    beforeAll(async () => {
      store = await open();
    });
    beforeEach(async () => {
      acme = new Tenant(store, `acme-${randomUUID()}`);
      await acme.apply({ kind: 'define', assetType: places });
    });
    afterAll(async () => {
      await store.reads.close();
      await store.writer.close();
    });

    const named = (rows: readonly StoredRow[]): FieldValue[] => rows.map(({ data }) => JSON.parse(data).name ?? null);

    describe('writing', () => {
      test('a row is found by its id and by its key', async () => {
        const row = acme.row({ code: 'Köln', name: 'Cologne', size: 1.5, open: true });
        await acme.apply(acme.put(row));
        for (const query of [
          { ids: [row.id], keys: [] },
          { ids: [], keys: ['Köln'] },
          { ids: [row.id, randomUUID()], keys: ['Köln', 'Bonn'] },
        ]) {
          const { rows, state } = await acme.rows(query);
          expect(rows).toEqual([{ ...stored(row), n: expect.any(Number) }]);
          expect(state).toMatchObject({ progress: 2, changed: 2, rows: 1 });
        }
        expect((await acme.rows({ ids: [], keys: ['köln'] })).rows).toEqual([]);
      });

      test('what progress covers is not applied', async () => {
        await acme.fill({ code: 'a', name: 'first' });
        const again = acme.row({ code: 'b' });
        expect(await store.writer.apply(acme.name, { position: acme.position, writes: [acme.put(again)] })).toBe(true);
        expect((await acme.rows({ ids: [again.id], keys: [] })).rows).toEqual([]);
        expect(await acme.progress()).toMatchObject({ position: acme.position, state: 'running', rows: 1 });
      });

      test('what a slice says of the log is added once', async () => {
        await acme.fill({ code: 'a' });
        expect(await acme.progress()).toMatchObject({ logBytes: 0 });
        for (const position of [acme.position + 1, acme.position + 1, acme.position + 2])
          await store.writer.apply(acme.name, { position, writes: [], logBytes: 300 });
        expect(await acme.progress()).toMatchObject({ logBytes: 600 });
      });

      test('a slice without writes moves progress alone', async () => {
        await acme.fill({ code: 'a' });
        await acme.apply();
        expect((await acme.page({})).state).toMatchObject({ progress: 3, changed: 2 });
      });

      test('the end of the stream is kept', async () => {
        expect((await acme.page({})).state).toMatchObject({ revision: -1, lastEventAt: '', changed: 0, rows: 0 });
        await acme.apply({ kind: 'end', space: 'places', revision: 7, at: time(7) });
        expect((await acme.page({})).state).toMatchObject({ revision: 7, lastEventAt: time(7) });
      });

      test('a changed row keeps its number, and stays as a version', async () => {
        const [first, second] = await acme.fill({ code: 'a', name: 'old' }, { code: 'b' });
        const next = acme.row({ code: 'c', name: 'new' }, { id: first.id });
        await acme.apply(acme.put(next, first));
        expect((await acme.rows({ ids: [], keys: ['a', 'c'] })).rows).toEqual([
          { ...stored(next), n: await acme.n(first) },
        ]);
        expect(await acme.versions({ id: first.id })).toEqual([
          { ...stored(next), n: await acme.n(first), to: undefined, how: 'present' },
          { ...stored(first), n: await acme.n(first), to: acme.position, how: 'changed' },
        ]);
        expect(idsOf((await acme.page({})).rows)).toEqual([first.id, second.id]);
      });

      test('a row that is put without the one before leaves no version', async () => {
        const [first] = await acme.fill({ code: 'a', name: 'old' });
        await acme.apply(acme.put(acme.row({ code: 'a', name: 'new' }, { id: first.id })));
        expect(await acme.versions({ id: first.id })).toMatchObject([{ how: 'present' }]);
        expect((await acme.page({})).state.rows).toBe(1);
      });

      test('an event that changes hundreds of long rows is applied, as is the one that takes it back', async () => {
        const fields = Array.from({ length: 400 }, (_, n) => ({ code: `c${n}`, notes: 'n'.repeat(4_000) }));
        const before = await acme.fill(...fields);
        await acme.apply({ kind: 'touch', space: 'places', ids: idsOf(before).slice(0, 200), batch: 'old' });
        const touched = before.map((row, n) => (n < 200 ? { ...row, batch: 'old' } : row));
        const changed = touched.map((row) => ({
          ...acme.row({ code: row.key, name: 'new' }, { id: row.id }),
          batch: 'new',
        }));
        await acme.apply(...changed.map((row, n) => acme.put(row, touched[n])));
        const to = acme.position + 1;
        const isBack = (n: number): boolean => n % 2 === 0;
        const back = touched.filter((_, n) => isBack(n)).map((row) => ({ ...row, from: to, updated: time(to) }));
        await acme.apply(
          ...back.map((row, n) => acme.put(row, changed[2 * n])),
          ...changed.flatMap((was, n): RowWrite[] => (isBack(n) ? [] : [{ kind: 'delete', space: 'places', was, to }])),
        );
        const { rows, state } = await acme.page({ limit: 400, maxCharacters: 1e7 });
        expect(rows).toMatchObject(back.map(stored));
        expect(state.rows).toBe(200);
        const ended = await acme.versions({ ended: [to - 2, to], limit: 1_000 });
        expect(ended).toMatchObject([
          ...touched.map((row) => ({ ...stored(row), to: to - 1, how: 'changed' })),
          ...changed.map((row, n) => ({ ...stored(row), to, how: isBack(n) ? 'changed' : 'deleted' })),
        ]);
      });

      test('a touched row has another batch id and nothing else', async () => {
        const [first, second, third] = await acme.fill({ code: 'a' }, { code: 'b' }, { code: 'c' });
        await acme.apply({ kind: 'touch', space: 'places', ids: [first.id, third.id], batch: 'one' });
        await acme.apply({ kind: 'touch', space: 'places', ids: [third.id], batch: null });
        const { rows, state } = await acme.page({});
        expect(rows).toMatchObject([stored({ ...first, batch: 'one' }), stored(second), stored(third)]);
        expect(state.changed).toBe(acme.position);
        expect(await acme.versions({ id: first.id })).toMatchObject([{ how: 'present' }]);
      });

      test('a deleted row is gone, its key is free, and its last id is known', async () => {
        const [first, second] = await acme.fill({ code: 'a' }, { code: 'b' });
        const to = acme.position + 1;
        await acme.apply(
          { kind: 'delete', space: 'places', was: first, to },
          { kind: 'delete', space: 'places', was: second, to },
        );
        const successor = acme.row({ code: 'b' });
        await acme.apply(acme.put(successor));
        const found = await acme.rows({ ids: [first.id], keys: ['a', 'b', 'never'] });
        expect(idsOf(found.rows)).toEqual([successor.id]);
        expect([...found.formerIds]).toEqual([['a', first.id]]);
        expect(found.state.rows).toBe(1);
        expect(await acme.versions({ id: first.id })).toMatchObject([{ to, how: 'deleted' }]);
      });

      test('an id that comes back has a new place', async () => {
        const [first, second] = await acme.fill({ code: 'a' }, { code: 'b' });
        await acme.apply({ kind: 'delete', space: 'places', was: first, to: acme.position + 1 });
        await acme.apply(acme.put(acme.row({ code: 'a' }, { id: first.id })));
        expect(idsOf((await acme.page({})).rows)).toEqual([second.id, first.id]);
      });

      test('keys may change hands within a slice', async () => {
        const [first, second] = await acme.fill({ code: 'a' }, { code: 'b' });
        await acme.apply(
          acme.put(acme.row({ code: 'c' }, { id: first.id }), first),
          acme.put(acme.row({ code: 'a' }, { id: second.id }), second),
          acme.put(acme.row({ code: 'b' })),
        );
        expect(idsOf((await acme.rows({ ids: [], keys: ['a'] })).rows)).toEqual([second.id]);
      });

      test('a clean-up deletes what has another batch id or none', async () => {
        const filled = await acme.fill(...Array.from({ length: 30 }, (_, n) => ({ code: `c${n}` })));
        const kept = filled.filter((_, n) => n % 3 === 0).map(({ id }) => id);
        await acme.apply({ kind: 'touch', space: 'places', ids: idsOf(filled).slice(0, 20), batch: 'old' });
        await acme.apply({ kind: 'touch', space: 'places', ids: kept, batch: 'new' });
        const outside = { conditions: [{ kind: 'outsideBatch', batch: 'new' }], withTotal: true } as const;
        expect(await acme.page(outside)).toMatchObject({ total: 20 });
        await acme.apply(
          { kind: 'cleanUp', space: 'places', batch: 'new', to: acme.position + 1 },
          { kind: 'end', space: 'places', revision: 3, at: time(3) },
        );
        const { rows, state } = await acme.page({});
        expect(idsOf(rows)).toEqual(kept);
        expect(state).toMatchObject({ rows: 10, changed: acme.position, revision: 3 });
        expect((await acme.page(outside)).total).toBe(0);
        const gone = await acme.versions({ ended: [acme.position - 1, acme.position], how: 'deleted' });
        expect(gone.map(({ id }) => id)).toEqual(idsOf(filled).filter((id) => !kept.includes(id)));
        expect(gone[0]).toMatchObject({ batch: 'old', from: filled[0]?.from });
      });

      test('values of the past are redacted, those of the row stay', async () => {
        const [first] = await acme.fill({ code: 'a', name: 'Ann', notes: 'hers' });
        const second = acme.row({ code: 'a' }, { id: first.id });
        await acme.apply(acme.put(second, first));
        const third = acme.row({ code: 'b', name: 'Ann' }, { id: first.id });
        await acme.apply(acme.put(third, second));
        const fields = { name: 'erased', notes: null, code: 'erased 1' };
        await acme.apply({ kind: 'redact', space: 'places', id: first.id, fields });
        const past = (await acme.versions({ id: first.id })).filter(({ how }) => how !== 'present');
        const erased = { code: 'erased 1', name: 'erased' };
        expect(past.map(({ data }) => JSON.parse(data))).toEqual([{ code: 'erased 1' }, erased]);
        expect(past.map(({ key }) => key)).toEqual(['erased 1', 'erased 1']);
        expect(named((await acme.page({})).rows)).toEqual(['Ann']);
      });

      test('what is old enough is forgotten without a version', async () => {
        const [, second, third] = await acme.fill(
          { code: 'a', name: '2026-01-01T00:00:00.000000Z' },
          { code: 'b', name: '2026-01-02T00:00:00.000000Z' },
          { code: 'c' },
        );
        await acme.apply({ kind: 'forget', space: 'places', field: 'name', before: '2026-01-02T00:00:00.000000Z' });
        const { rows, state } = await acme.page({});
        expect(idsOf(rows)).toEqual([second.id, third.id]);
        expect(state.rows).toBe(2);
        expect(await acme.versions({ ended: [0, acme.position] })).toEqual([]);
      });

      test('a field that is added later is found and sorted by as well', async () => {
        const [first] = await acme.fill({ code: 'a' });
        const [code, ...others] = places.fields;
        const added = { ...code, name: 'region', required: false };
        const assetType = { ...places, fields: [added, code, ...others] };
        await acme.apply({ kind: 'define', assetType });
        const [second] = await acme.fill({ code: 'b', region: 'West' });
        expect(await acme.ids({ sort: by('region desc', 'id') })).toEqual([second.id, first.id]);
        expect(await acme.ids({ conditions: [{ kind: 'contains', field: 'region', anyOf: ['es'] }] })).toEqual([
          second.id,
        ]);
        expect((await store.reads.spaces(acme.name))?.get('places')).toMatchObject({ assetType, state: { rows: 2 } });
      });
    });

    describeRowPages(() => acme);

    describe('tenants', () => {
      test('see nothing of each other', async () => {
        const other = new Tenant(store, `other-${randomUUID()}`);
        await other.apply({ kind: 'define', assetType: places });
        const [row] = await other.fill({ code: 'a' });
        expect((await acme.rows({ ids: [row.id], keys: ['a'] })).rows).toEqual([]);
        expect((await acme.page({ withTotal: true })).total).toBe(0);
        await store.writer.remove(other.name);
        expect(await other.progress()).toBeUndefined();
        expect((await other.rows({ ids: [row.id], keys: [] })).rows).toEqual([]);
        expect((await store.writer.tenants()).has(other.name)).toBe(false);
      });

      test('without rows have nothing', async () => {
        const nobody = new Tenant(store, `nobody-${randomUUID()}`);
        expect(await store.reads.spaces(nobody.name)).toBeUndefined();
        expect(await nobody.progress()).toBeUndefined();
        expect(await nobody.page({ withTotal: true })).toEqual({
          rows: [],
          total: 0,
          state: { progress: 0, changed: 0, revision: -1, lastEventAt: '', rows: 0 },
        });
        expect(await nobody.versions({ ended: [0, 9] })).toEqual([]);
        expect((await acme.page({}, 'nowhere')).rows).toEqual([]);
      });

      test('are parked, filled and running', async () => {
        await acme.fill({ code: 'a' });
        const parked = { position: 3, eventId: randomUUID(), eventType: 'X', error: 'It is wrong.', since: time(3) };
        await store.writer.mark(acme.name, parked);
        expect(await acme.progress()).toMatchObject({ position: 2, state: 'parked', parked, rows: 1 });
        expect((await store.writer.tenants()).get(acme.name)).toMatchObject({ position: 2, state: 'parked', parked });
        await expect(acme.page({})).rejects.toThrow(RowsUnavailableError);
        await store.writer.mark(acme.name, 'filling');
        expect(await acme.progress()).toMatchObject({ state: 'filling' });
        await expect(acme.page({})).rejects.toThrow(RowsUnavailableError);
        await store.writer.mark(acme.name, undefined);
        expect((await store.writer.tenants()).get(acme.name)).toMatchObject({ state: 'running' });
        expect((await acme.page({})).rows).toHaveLength(1);
      });

      test('have a copy that takes the place of their rows', async () => {
        const [old] = await acme.fill({ code: 'old' });
        const { writer } = store;
        const [copy, copied] = [copyOf(acme.name), { ...acme.places, tenant: copyOf(acme.name) }];
        await writer.apply(copy, { position: 1, writes: [{ kind: 'define', assetType: places }] });
        await writer.remove(copy);
        expect(await writer.progress(copy)).toBeUndefined();
        const next = acme.row({ code: 'new' });
        await writer.apply(copy, { position: 9, writes: [{ kind: 'define', assetType: places }, acme.put(next)] });
        expect(idsOf((await writer.rows(copied, { ids: [], keys: ['new'] })).rows)).toEqual([next.id]);
        expect(await acme.ids({})).toEqual([old.id]);
        expect((await writer.tenants()).get(acme.name)).toMatchObject({ state: 'running' });
        expect([...(await writer.tenants()).keys()]).not.toContain(copy);
        await writer.swap(acme.name);
        expect(await acme.ids({})).toEqual([next.id]);
        expect(await acme.progress()).toMatchObject({ position: 9, state: 'running' });
        expect(await writer.rows(acme.places, { ids: [old.id], keys: [] })).toMatchObject({ rows: [] });
        await writer.remove(copy);
        expect(await acme.ids({})).toEqual([next.id]);
      });

      test('are alike after the same writes', async () => {
        const { writer } = store;
        const copy = copyOf(acme.name);
        const [first, second] = await acme.fill({ code: 'a' }, { code: 'b' });
        const next = acme.row({ code: 'c' }, { id: first.id });
        const writes: RowWrite[] = [acme.put(next, first), { kind: 'end', space: 'places', revision: 1, at: time(1) }];
        await acme.apply(...writes);
        await writer.apply(copy, { position: 1, writes: [{ kind: 'define', assetType: places }] });
        await writer.apply(copy, { position: 2, writes: [acme.put(first), acme.put(second)] });
        await writer.apply(copy, { position: 3, writes });
        const [lines, copied] = [await dumpOf(writer, acme.name), await dumpOf(writer, copy)];
        expect(copied).toEqual(lines);
        expect(lines.map(({ space, kind, id }) => [space, kind, id])).toEqual([
          ['places', 'space', ''],
          ['places', 'row', first.id],
          ['places', 'row', second.id],
          ['places', 'version', first.id],
        ]);
        await writer.apply(copy, { position: 4, writes: [acme.put({ ...next, from: 4, updated: time(9) })] });
        expect(await dumpOf(writer, copy)).not.toEqual(lines);
        await writer.remove(copy);
      });
    });

    test('the checkpoint of the follower is kept', async () => {
      const checkpoint = { position: 12, eventId: randomUUID(), log: randomUUID() };
      await store.writer.keep(checkpoint);
      await store.writer.keep({ ...checkpoint, position: 13 });
      expect(await store.writer.checkpoint()).toEqual({ ...checkpoint, position: 13 });
    });
  });
}

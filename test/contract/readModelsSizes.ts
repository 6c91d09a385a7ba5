import type { AssetType } from '#app/domain/assetTypes/assetType.js';
import { MAX_DECISION_BYTES, MAX_HISTORY_PAGE_BYTES, MAX_PAGE_BYTES } from '#app/domain/limits.js';
import { AnswerTooLargeError } from '#app/ports/readModels.js';
import type { ReadModelWriter, RebuildableReadModels } from '#app/ports/readModelWriter.js';
import type { ReadModels } from '#app/ports/readSide.js';
import { textField } from '../fixtures/textField.js';
import {
  acmePlaces,
  at,
  contains,
  fill,
  found,
  historyEntry,
  id,
  insert,
  type OpenQueries,
  type OpenReadModels,
  places,
  query,
  recordsOn,
  write,
} from './readModelsFixture.js';
import { proven } from './readModelsProof.js';

const LONG_BYTES = 800_000;
const LONG = 'x'.repeat(LONG_BYTES);
/** As many bytes, in half as many characters. */
const UMLAUTS = 'ß'.repeat(LONG_BYTES / 2);
const longOnPage = Math.floor(MAX_PAGE_BYTES / LONG_BYTES);
const longInDecision = Math.floor(MAX_DECISION_BYTES / LONG_BYTES);

export function describeAnswerSizes(name: string, open: OpenQueries<'defineTable' | 'applyToTable'>): void {
  describe(`read models, sizes of records: ${name}`, () => {
    let readModels: Awaited<ReturnType<typeof open>>['readModels'];
    let writer: Awaited<ReturnType<typeof open>>['writer'];

    beforeEach(async () => {
      ({ readModels, writer } = await open());
    });

    test('a page of more bytes than one may have is refused, and says to ask for fewer; smaller ones are served', async () => {
      for (let n = 0; n <= longOnPage; n++)
        await fill(writer, [insert(n, { name: `N${n}`, notes: n < 2 ? LONG : UMLAUTS })]);
      const whole = readModels.list(acmePlaces, query({ limit: 1000 }));
      await expect(whole).rejects.toThrow(AnswerTooLargeError);
      await expect(whole).rejects.toThrow(/Ask for fewer/);
      expect((await found(readModels, { limit: longOnPage })).records).toHaveLength(longOnPage);
      expect(await found(readModels, { limit: 25, offset: longOnPage })).toMatchObject({ total: longOnPage + 1 });
      // One of those that go on behind a record ends there instead.
      const asked = { filters: [], direction: 'asc', limit: 1000 } as const;
      const { records, next } = await readModels.listBehind(acmePlaces, asked);
      expect([recordsOn({ records }).length, next]).toEqual([
        longOnPage,
        { createdAt: at(longOnPage - 1), id: id(longOnPage - 1) },
      ]);
      const ids = Array.from({ length: longOnPage + 1 }, (_, n) => id(n));
      expect((await readModels.byIds(acmePlaces, ids)).records).toHaveLength(longOnPage);
      const rest = await readModels.listBehind(acmePlaces, { ...asked, behind: next });
      expect([recordsOn(rest).length, rest.next]).toEqual([1, undefined]);
    });

    test('a decision about more than may be read for one is refused, and says to name fewer records', async () => {
      const ids = Array.from({ length: longInDecision + 1 }, (_, n) => id(n));
      for (const n of ids.keys()) await fill(writer, [insert(n, { name: 'same', notes: LONG })]);
      const whole = readModels.snapshot(acmePlaces, { keys: [], ids });
      await expect(whole).rejects.toThrow(AnswerTooLargeError);
      await expect(whole).rejects.toThrow(/Name fewer/);
      await expect(readModels.find(acmePlaces, 'name', ['same'])).rejects.toThrow(AnswerTooLargeError);
      const { records } = await readModels.snapshot(acmePlaces, { keys: [], ids: ids.slice(0, -10) });
      expect(records).toHaveLength(ids.length - 10);
    });
  });
}

export function describeSizes(name: string, open: OpenReadModels): void {
  describe(`read models, sizes of answers: ${name}`, () => {
    let readModels: ReadModels;
    let writer: ReadModelWriter & RebuildableReadModels;

    beforeEach(async () => {
      ({ readModels, writer } = await open());
    });

    test('a page of a history ends before it is too large, and has one entry at least', async () => {
      const changed = (to: string) => ({
        changes: [{ table: 'dyn_stock_order', id: id(1), field: 'notes', from: null, to }],
      });
      const huge = 'x'.repeat(MAX_HISTORY_PAGE_BYTES + 1);
      const entries = ['short', UMLAUTS, UMLAUTS, LONG, LONG, LONG, LONG, huge, LONG, 'short'].map((to, n) =>
        historyEntry(n, changed(to)),
      );
      for (const entry of entries) await write(writer, () => writer.addHistory('acme', id(1), [entry]));
      const revisionsOn = async (page: number, perPage: number) => {
        const { entries: shown, ...place } = await readModels.history('acme', id(1), { page, perPage });
        return [shown.map(({ revision }) => revision), place];
      };
      const place = { pages: 4, total: entries.length };
      expect(await revisionsOn(1, 1000)).toEqual([[0, 1, 2, 3, 4, 5], { ...place, before: 0 }]);
      expect(await revisionsOn(2, 1000)).toEqual([[6], { ...place, before: 6 }]);
      expect(await revisionsOn(3, 1000)).toEqual([[7], { ...place, before: 7 }]);
      expect(await revisionsOn(4, 1000)).toEqual([[8, 9], { ...place, before: 8 }]);
      expect(await revisionsOn(5, 1000)).toEqual([[], { ...place, before: 0 }]);
      expect(await revisionsOn(2, 1)).toEqual([[1], { pages: entries.length, total: entries.length, before: 1 }]);
    });

    test.each([15, 58])(
      'the largest record, with %i long texts, is found by a part of each, and by no other',
      async (count) => {
        const names = Array.from({ length: count }, (_, n) => `text${n}`);
        const texts = new Map(names.map((field, n) => [field, differentText(LARGEST_RECORD / count, n)]));
        const longTexts = names.map((field) => textField(field, { type: 'LongText', sortable: false }));
        const type: AssetType = { ...places, fields: [...places.fields, ...longTexts] };
        const records = [insert(1, Object.fromEntries(texts)), insert(2, { text0: 'a short one' })];
        const fillWith = (target: Pick<ReadModelWriter, 'begin' | 'commit' | 'defineTable' | 'applyToTable'>) =>
          write(target, async () => {
            await target.defineTable(acmePlaces, type);
            await target.applyToTable(acmePlaces, records, { revision: 0, at: at(2) });
          });
        await fillWith(writer);
        const partOf = (field: string) => texts.get(field)?.slice(-300, -280) ?? '';
        const having = async (field: string, part: string) =>
          (await found(readModels, { filters: [contains(field, part)] })).records;
        for (const field of names) {
          expect([field, await having(field, partOf(field))]).toEqual([field, ['C1']]);
          expect([field, await having(field, `${partOf(field)}é`)]).toEqual([field, []]);
        }
        expect(await having('text0', 'short')).toEqual(['C2']);
        const copy = await writer.beginRebuild({ projection: 'records' });
        await fillWith(copy.writer);
        expect((await proven(copy)).differences).toEqual([]);
        await copy.abandon();

        const set = Object.fromEntries(names.map((field) => [field, field === 'text1' ? 'short now' : null]));
        const patch = { kind: 'patch', id: id(1), at: at(3), set } as const;
        await write(writer, () => writer.applyToTable(acmePlaces, [patch], { revision: 1, at: at(3) }));
        expect(await having('text1', partOf('text1'))).toEqual([]);
        expect(await having('text1', 'short')).toEqual(['C1']);
      },
    );
  });
}

/** Characters of a record that the API takes. */
const LARGEST_RECORD = 975_000;

const CHARACTERS = 'abcdefghijklmnopqrstuvwxyz0123456789 !"#$%&\'()*+,-./:;<=>?@[]^_`{|}~';

/** A text in which hardly three characters come twice. */
function differentText(length: number, seed: number): string {
  let state = seed + 1;
  return Array.from({ length: Math.floor(length) }, () => {
    // A linear congruential generator (Numerical Recipes).
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return CHARACTERS[(state >>> 16) % CHARACTERS.length];
  }).join('');
}

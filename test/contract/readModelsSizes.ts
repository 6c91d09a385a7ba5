import { MAX_DECISION_BYTES, MAX_HISTORY_PAGE_BYTES, MAX_PAGE_BYTES } from '#app/domain/limits.js';
import { AnswerTooLargeError } from '#app/ports/readModels.js';
import type { ReadModelWriter } from '#app/ports/readModelWriter.js';
import type { ReadModels } from '#app/ports/readSide.js';
import {
  acmePlaces,
  at,
  fill,
  found,
  historyEntry,
  id,
  insert,
  type OpenReadModels,
  query,
  recordsOn,
  write,
} from './readModelsFixture.js';

const LONG_BYTES = 800_000;
const LONG = 'x'.repeat(LONG_BYTES);
/** As many bytes, in half as many characters. */
const UMLAUTS = 'ß'.repeat(LONG_BYTES / 2);
const longOnPage = Math.floor(MAX_PAGE_BYTES / LONG_BYTES);
const longInDecision = Math.floor(MAX_DECISION_BYTES / LONG_BYTES);

export function describeSizes(name: string, open: OpenReadModels): void {
  describe(`read models, sizes of answers: ${name}`, () => {
    let readModels: ReadModels;
    let writer: ReadModelWriter;

    beforeEach(async () => {
      ({ readModels, writer } = await open());
    });
    afterEach(async () => {
      await readModels.close();
      await writer.close();
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

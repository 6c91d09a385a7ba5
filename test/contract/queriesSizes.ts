/** Answers and decisions end before they are too large. */
import { MAX_DECISION_BYTES, MAX_PAGE_BYTES } from '#app/domain/limits.js';
import { AnswerTooLargeError } from '#app/queries/storedRecord.js';
import { acmePlaces, fill, found, id, insert, type OpenQueries, query, recordsOn } from './queriesFixture.js';

const LONG_BYTES = 800_000;
const LONG = 'x'.repeat(LONG_BYTES);
/** As many bytes, in half as many characters. */
const UMLAUTS = 'ß'.repeat(LONG_BYTES / 2);
const longOnPage = Math.floor(MAX_PAGE_BYTES / LONG_BYTES);
const longInDecision = Math.floor(MAX_DECISION_BYTES / LONG_BYTES);

export function describeAnswerSizes(name: string, open: OpenQueries): void {
  describe(`read models, sizes of records: ${name}`, () => {
    let reads: Awaited<ReturnType<typeof open>>['reads'];
    let writer: Awaited<ReturnType<typeof open>>['writer'];

    beforeEach(async () => {
      ({ reads, writer } = await open());
    });

    test('a page of more bytes than one may have is refused, and says to ask for fewer; smaller ones are served', async () => {
      for (let n = 0; n <= longOnPage; n++)
        await fill(writer, [insert(n, { name: `N${n}`, notes: n < 2 ? LONG : UMLAUTS })]);
      const whole = reads.list(acmePlaces, query({ limit: 1000 }));
      await expect(whole).rejects.toThrow(AnswerTooLargeError);
      await expect(whole).rejects.toThrow(/Ask for fewer/);
      expect((await found(reads, { limit: longOnPage })).records).toHaveLength(longOnPage);
      expect(await found(reads, { limit: 25, offset: longOnPage })).toMatchObject({ total: longOnPage + 1 });
      // One of those that go on behind a record ends there instead.
      const asked = { filters: [], direction: 'asc', limit: 1000 } as const;
      const { records, next } = await reads.listBehind(acmePlaces, asked);
      expect(recordsOn({ records })).toHaveLength(longOnPage);
      const ids = Array.from({ length: longOnPage + 1 }, (_, n) => id(n));
      expect(await reads.byIds(acmePlaces, ids)).toHaveLength(longOnPage);
      const rest = await reads.listBehind(acmePlaces, { ...asked, behind: next });
      expect([recordsOn(rest).length, rest.next]).toEqual([1, undefined]);
    });

    test('a decision about more than may be read for one is refused, and says to name fewer records', async () => {
      const ids = Array.from({ length: longInDecision + 1 }, (_, n) => id(n));
      for (const n of ids.keys()) await fill(writer, [insert(n, { name: 'same', notes: LONG })]);
      const whole = reads.snapshot(acmePlaces, { keys: [], ids });
      await expect(whole).rejects.toThrow(AnswerTooLargeError);
      await expect(whole).rejects.toThrow(/Name fewer/);
      await expect(reads.find(acmePlaces, 'name', ['same'])).rejects.toThrow(AnswerTooLargeError);
      const { records } = await reads.snapshot(acmePlaces, { keys: [], ids: ids.slice(0, -10) });
      expect(records).toHaveLength(ids.length - 10);
    });
  });
}

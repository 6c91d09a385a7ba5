/** The pages of a history, by the sizes of its entries. */
import { placeOfPage, storedEntry } from '#app/adapters/readmodels/shared/historyPages.js';
import { MAX_HISTORY_PAGE_BYTES } from '#app/domain/limits.js';

const half = MAX_HISTORY_PAGE_BYTES / 2;

test('a page ends at its number of entries or at its bytes, and the next one begins there', () => {
  const sizes = [1, 1, 1, half, half, half, 3 * half, 1];
  const pages = [1, 2, 3, 4, 5, 6].map((page) => placeOfPage(sizes, { page, perPage: 3 }));
  expect(pages.map(({ before, count }) => [before, count])).toEqual([
    [0, 3],
    [3, 2],
    [5, 1],
    [6, 1],
    [7, 1],
    [0, 0],
  ]);
  expect(new Set(pages.map(({ pages: number, total }) => `${number} ${total}`))).toEqual(new Set(['5 8']));
});

test('a further entry changes no page before the last', () => {
  const sizes = [half, 1, half, half, 1];
  for (const page of [1, 2]) {
    const { before, count } = placeOfPage(sizes, { page, perPage: 25 });
    expect(placeOfPage([...sizes, half], { page, perPage: 25 })).toMatchObject({ before, count });
  }
});

test('an entry is parsed without its changes, also if its texts look like JSON', () => {
  const changes = [{ field: 'notes', from: ',"changes":', to: '"}' }];
  const text = JSON.stringify({ revision: 1, reasons: ['a,"changes":[]', '}'], changes });
  expect(storedEntry(text)).toEqual({
    revision: 1,
    reasons: ['a,"changes":[]', '}'],
    changes: JSON.stringify(changes),
  });
});

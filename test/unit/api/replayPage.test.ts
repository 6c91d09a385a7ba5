import { replayPage } from '#app/api/replay/text.js';
import { MAX_HISTORY_PAGE_BYTES, MAX_REPLAY_PARTS, MAX_REPLAY_STEPS } from '#app/domain/limits.js';

type Given = { readonly bytes?: number; readonly checked?: number };

async function* stepsOf(given: readonly Given[]) {
  for (const [revision, { checked = 0, bytes = 1 }] of given.entries()) yield { place: { revision }, checked, bytes };
}

async function pageOf(given: readonly Given[]) {
  const { steps, next } = await replayPage(stepsOf(given), async ({ bytes }) => [Buffer.alloc(bytes)]);
  return { steps: steps.length, next };
}

const many = (count: number, given: Given = {}): readonly Given[] => Array.from({ length: count }, () => given);

test('a page ends at its number of steps', async () => {
  expect(await pageOf(many(MAX_REPLAY_STEPS))).toEqual({ steps: MAX_REPLAY_STEPS, next: undefined });
  expect(await pageOf(many(MAX_REPLAY_STEPS + 1))).toEqual({
    steps: MAX_REPLAY_STEPS,
    next: { revision: MAX_REPLAY_STEPS },
  });
});

test('a page ends at its bytes', async () => {
  const half = { bytes: MAX_HISTORY_PAGE_BYTES / 2 };
  expect(await pageOf(many(3, half))).toEqual({ steps: 2, next: { revision: 2 } });
});

test('a larger step comes alone', async () => {
  const large = { bytes: MAX_HISTORY_PAGE_BYTES + 1 };
  expect(await pageOf([large, {}])).toEqual({ steps: 1, next: { revision: 1 } });
  expect(await pageOf([{}, large])).toEqual({ steps: 1, next: { revision: 1 } });
});

test('a page ends at the parts that were checked for it', async () => {
  expect(await pageOf(many(5, { checked: MAX_REPLAY_PARTS / 4 }))).toEqual({ steps: 4, next: { revision: 4 } });
});

test('an order without events has no page', async () => {
  expect(await pageOf([])).toEqual({ steps: 0, next: undefined });
});

import { InFlight } from '#app/api/admission.js';
import { limitOf } from '#app/api/rateLimit.js';

const NONE = { perSecond: 0, burst: 0 };
const limit = (perSecond: number, burst: number) => ({ perSecond, burst });

test.each([
  ['has no own one', limit(100, 200), undefined, limit(100, 200)],
  ['has a lower one', limit(100, 200), limit(5, 10), limit(5, 10)],
  ['asks for more', limit(100, 200), limit(1_000_000, 1_000_000), limit(100, 200)],
  ['asks for more at once only', limit(100, 200), limit(5, 1_000_000), limit(5, 200)],
  ['has one where the operator sets none', NONE, limit(5, 10), limit(5, 10)],
  ['has none where the operator sets none', NONE, undefined, NONE],
])("the operator's limit is a ceiling: a tenant %s", (_what, ofService, ofTenant, expected) => {
  expect(limitOf(ofService, ofTenant)).toEqual(expected);
});

test('so many requests are in flight for one key; those of another are not counted', () => {
  const inFlight = new InFlight();
  const leave = [1, 2].map(() => inFlight.enter('acme', 2));
  expect(inFlight.enter('acme', 2)).toBeUndefined();
  expect(inFlight.enter('other', 2)).toBeDefined();
  leave[0]?.();
  expect(inFlight.enter('acme', 2)).toBeDefined();
  expect(inFlight.enter('acme', 2)).toBeUndefined();
});

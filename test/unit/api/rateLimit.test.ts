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

import { limitOf } from '#app/api/rateLimit.js';

const limit = (perSecond: number, burst: number) => ({ perSecond, burst });

test.each([
  ['has no own one', undefined, limit(100, 200)],
  ['has a lower one', limit(5, 10), limit(5, 10)],
  ['asks for more', limit(1_000_000, 1_000_000), limit(100, 200)],
  ['asks for more at once only', limit(5, 1_000_000), limit(5, 200)],
])("the operator's limit is a ceiling: a tenant %s", (_what, ofTenant, expected) => {
  expect(limitOf({ RATE_LIMIT_PER_SECOND: 100 }, ofTenant)).toEqual(expected);
});

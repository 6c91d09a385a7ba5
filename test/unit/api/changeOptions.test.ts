import type { Request } from 'express';
import { idempotencyKeyOf } from '#app/api/changeOptions.js';
import { MAX_IDEMPOTENCY_KEY_LENGTH } from '#app/domain/limits.js';

const asked = (key?: string): Request => ({ headers: key === undefined ? {} : { 'idempotency-key': key } }) as Request;

test.each([undefined, 'k', '"8e03978e-40d5-43dd-bc93-6894a57f9324"', '~'.repeat(MAX_IDEMPOTENCY_KEY_LENGTH)])(
  '%.40s is taken as it is',
  (key) => expect(idempotencyKeyOf(asked(key))).toBe(key),
);

test.each(['', ' ', 'a b', 'a, b', 'é', 'a\tb', 'x'.repeat(MAX_IDEMPOTENCY_KEY_LENGTH + 1)])('%.40j is 400', (key) => {
  expect(() => idempotencyKeyOf(asked(key))).toThrow(expect.objectContaining({ status: 400 }));
});

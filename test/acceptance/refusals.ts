/** What every refusal must be: the status, the body of spec §7, and nothing stored. */
import { z } from 'zod';
import type { Answer } from './http.js';
import type { Service } from './service.js';

const otherError = z.strictObject({ message: z.string().min(1), error: z.string().min(1) });
const validationError = z.strictObject({ message: z.string().min(1), errors: z.looseObject({}) });
const messages = z.array(z.string().min(1)).min(1);

/** Messages by field of a validation error (spec §7); a field may be called `__proto__`. Fails the test for another shape. */
export function fieldErrors(answer: Answer): ReadonlyMap<string, readonly string[]> {
  expect(answer.status).toBe(422);
  expectErrorBody(answer);
  const errors: unknown = Reflect.get(Object(answer.body), 'errors');
  return new Map(Object.entries(Object(errors)).map(([field, texts]) => [field, messages.parse(texts)]));
}

export function expectErrorBody(answer: Answer): void {
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  const schema = answer.status === 422 ? validationError : otherError;
  schema.parse(answer.body);
}

/** Sends, and checks that it is refused with this status and the body of §7, and that the event log did not grow. */
export async function expectRefused(service: Service, status: number, send: () => Promise<Answer>): Promise<Answer> {
  const before = await service.logHead();
  const answer = await send();
  if (answer.status !== status)
    throw new Error(`${status} was expected, not ${answer.status}: ${answer.text.slice(0, 500)}`);
  expectErrorBody(answer);
  expect(await service.logHead()).toBe(before);
  return answer;
}

/** A 422 whose errors name exactly these fields. */
export async function expectInvalid(
  service: Service,
  fields: readonly string[],
  send: () => Promise<Answer>,
): Promise<Answer> {
  const answer = await expectRefused(service, 422, send);
  expect([...fieldErrors(answer).keys()].sort()).toEqual([...fields].sort());
  return answer;
}

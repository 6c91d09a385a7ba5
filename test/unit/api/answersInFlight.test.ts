import { EventEmitter } from 'node:events';
import type { Response } from 'express';
import { AnswersInFlight } from '#app/api/admission.js';
import { MAX_ANSWER_BYTES_IN_FLIGHT, MAX_ANSWER_MS, MAX_TENANT_ANSWER_BYTES_IN_FLIGHT } from '#app/domain/limits.js';

const answer = () =>
  Object.assign(new EventEmitter(), { closed: false, destroy: jest.fn() }) as unknown as Response & EventEmitter;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test('a tenant has room again when its clients have taken what was in flight', () => {
  const answers = new AnswersInFlight();
  const slow = answer();
  answers.add('acme', MAX_TENANT_ANSWER_BYTES_IN_FLIGHT, slow);
  expect(answers.hasRoom('acme')).toBe(false);
  expect(answers.hasRoom('other')).toBe(true);
  slow.emit('close');
  expect(answers.hasRoom('acme')).toBe(true);
});

test('where all tenants together have too much in flight, those with nothing are answered', () => {
  const answers = new AnswersInFlight();
  for (let n = 0; n < 8; n += 1) answers.add(`t${n}`, MAX_ANSWER_BYTES_IN_FLIGHT / 8, answer());
  expect(answers.hasRoom('t1')).toBe(false);
  expect(answers.hasRoom('new')).toBe(true);
});

test('a client that takes too long is cut off', () => {
  const answers = new AnswersInFlight();
  const [slow, quick] = [answer(), answer()];
  answers.add('acme', 1_000_000, slow);
  answers.add('acme', 1_000_000, quick);
  quick.emit('close');
  jest.advanceTimersByTime(MAX_ANSWER_MS);
  expect(slow.destroy).toHaveBeenCalled();
  expect(quick.destroy).not.toHaveBeenCalled();
});

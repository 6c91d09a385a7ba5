/** A request waits until this process knows what was in the log as it came. */
import { setImmediate as turn } from 'node:timers/promises';
import { LOG_END_ASKED_EVERY_MS } from '#app/domain/limits.js';
import { LogEnd } from '#app/reading/logEnd.js';

afterEach(() => {
  jest.useRealTimers();
});

/** A log whose questions are answered by hand. */
function log() {
  const questions: { readonly answer: (position: number) => void; readonly fail: () => void }[] = [];
  const head = () =>
    new Promise<number>((answer, reject) => questions.push({ answer, fail: () => reject(new Error('away')) }));
  return { questions, head };
}

const outcomeOf = (promise: Promise<boolean>) => Promise.race([promise, turn('waits')]);

test('it waits for everything that follows the log', async () => {
  const { questions, head } = log();
  let follow: () => void = () => undefined;
  const followed = new Promise<void>((resolve) => {
    follow = resolve;
  });
  const asked: number[] = [];
  const slow = (position: number): Promise<void> => {
    asked.push(position);
    return followed;
  };
  const followers = [{ waitFor: slow }, { waitFor: async () => undefined }];
  const reached = new LogEnd({ head }, followers).reached();
  await turn();
  questions[0]?.answer(7);
  expect(await outcomeOf(reached)).toBe('waits');
  expect(asked).toEqual([7]);
  follow();
  expect(await reached).toBe(true);
});

test('requests share a question that has not been asked yet, and never one that was asked before they came', async () => {
  const { questions, head } = log();
  const end = new LogEnd({ head }, []);
  const first = end.reached();
  await turn();
  const later = Array.from({ length: 100 }, () => end.reached());
  await turn();
  expect(questions).toHaveLength(1);
  questions[0]?.answer(1);
  expect(await first).toBe(true);
  await turn();
  expect(questions).toHaveLength(2);
  questions[1]?.answer(2);
  expect(await Promise.all(later)).toEqual(later.map(() => true));
});

test('while the log is away nobody waits, and one question now and then finds it back', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
  const { questions, head } = log();
  const end = new LogEnd({ head }, []);
  const first = end.reached();
  await turn();
  const second = end.reached();
  questions[0]?.fail();
  expect(await Promise.all([first, second])).toEqual([false, false]);
  for (let n = 0; n < 3; n += 1) expect(await outcomeOf(end.reached())).toBe(false);
  expect(questions).toHaveLength(2);
  questions[1]?.fail();
  await turn();
  jest.advanceTimersByTime(LOG_END_ASKED_EVERY_MS + 1);
  expect(await outcomeOf(end.reached())).toBe(false);
  questions[2]?.answer(1);
  await turn();
  const again = end.reached();
  await turn();
  questions[3]?.answer(1);
  expect(await again).toBe(true);
});

test('a log that hangs is waited for once', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
  const { head } = log();
  const end = new LogEnd({ head }, []);
  const reached = end.reached();
  await turn();
  jest.advanceTimersByTime(10_000);
  expect(await reached).toBe(false);
  expect(await outcomeOf(end.reached())).toBe(false);
});

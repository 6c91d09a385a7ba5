import { setTimeout as wait } from 'node:timers/promises';
import { Deadline, DeadlineError } from '#app/supervision/deadline.js';

const deadlines: Deadline[] = [];
const deadline = (milliseconds: number): Deadline => {
  const made = new Deadline(milliseconds, () => new DeadlineError('It took too long.'));
  deadlines.push(made);
  return made;
};
afterEach(() => {
  for (const each of deadlines.splice(0)) each.end();
});

const never = new Promise<never>(() => undefined);

test('work that ends in time has its outcome', async () => {
  const { leftMs } = deadline(60_000);
  expect(leftMs).toBeGreaterThan(50_000);
  await expect(deadline(60_000).within(Promise.resolve('done'))).resolves.toBe('done');
  await expect(deadline(60_000).within(Promise.reject(new Error('Failed.')))).rejects.toThrow('Failed.');
});

test('when the time is over, work is given up, and none is begun', async () => {
  const over = deadline(10);
  await expect(over.within(never)).rejects.toThrow(DeadlineError);
  expect(over.leftMs).toBe(0);
  expect(() => over.throwIfCancelled()).toThrow('It took too long.');
  await expect(over.within(never)).rejects.toThrow(DeadlineError);
});

test('a failure after the end of the time is nobody’s', async () => {
  let fail = (_: Error): void => undefined;
  const late = new Promise((_, reject) => {
    fail = reject;
  });
  await expect(deadline(10).within(late)).rejects.toThrow(DeadlineError);
  fail(new Error('Late.'));
  await expect(late).rejects.toThrow('Late.');
});

test('what is not counted takes none of the time', async () => {
  const long = deadline(200);
  await long.uncounted(wait(400));
  expect(long.reason).toBeUndefined();
  expect(long.leftMs).toBeGreaterThan(0);
  await expect(long.within(never)).rejects.toThrow(DeadlineError);
});

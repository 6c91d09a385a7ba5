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

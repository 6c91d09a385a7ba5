import { RequestDeadline } from '#app/commands/requestDeadline.js';
import { EventStoreUnavailableError, WrongExpectedRevisionError } from '#app/ports/eventStore.js';
import { DeadlineError } from '#app/supervision/deadline.js';

let deadline: RequestDeadline;
beforeEach(() => {
  deadline = new RequestDeadline(60_000, () => new DeadlineError('It took too long.'));
});
afterEach(() => deadline.end());

const rejected = (error: Error) => deadline.append(() => Promise.reject(error)).catch(() => undefined);

test.each([
  ['the revision is another', new WrongExpectedRevisionError('order-1', 0, 1)],
  ['the log has no room', new EventStoreUnavailableError('The disk is full.')],
])('an append is refused where %s: nothing is written', async (_, error) => {
  await rejected(error);
  expect(deadline.mayHaveWritten).toBe(false);
});

test('an append whose answer was lost may be written', async () => {
  await rejected(new EventStoreUnavailableError('The log is away.', { mayBeStored: true }));
  expect(deadline.mayHaveWritten).toBe(true);
});

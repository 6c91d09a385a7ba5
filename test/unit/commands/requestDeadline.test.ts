import { RequestDeadline } from '#app/commands/requestDeadline.js';
import { appendIfUnchanged, NO_STREAM } from '#app/commands/writeStream.js';
import { EventStoreUnavailableError, WrongExpectedRevisionError } from '#app/ports/eventStore.js';
import { DeadlineError } from '#app/supervision/deadline.js';

const STORED = { revision: 0, position: 1 };

let deadline: RequestDeadline;
beforeEach(() => {
  deadline = new RequestDeadline(60_000, () => new DeadlineError('It took too long.'));
});
afterEach(() => deadline.end());

const over = (): void => deadline.cancel(new DeadlineError('It took too long.'));
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

test('an append that hangs may be written when the time is over', async () => {
  const append = deadline.append(() => new Promise(() => undefined));
  over();
  await expect(append).rejects.toThrow(DeadlineError);
  expect(deadline.mayHaveWritten).toBe(true);
});

test('when the time is over the log is not asked any more', async () => {
  const append = jest.fn();
  over();
  const log = { eventStore: { append } as never, now: () => '2026-11-22T10:00:00.000000Z', newId: () => 'an id' };
  const caller = {
    tenant: 'acme',
    actor: { kind: 'system', id: 'test' },
    correlationId: 'c',
    causationId: 'c',
    deadline,
  } as const;
  const events = [{ type: 'OrderCreated', data: {} }] as const;
  await expect(appendIfUnchanged(log, caller, 'order-1', NO_STREAM, events)).rejects.toThrow(DeadlineError);
  expect(append).not.toHaveBeenCalled();
  expect(deadline.mayHaveWritten).toBe(false);
});

test('the log is told how long it may be asked, and keeps nothing of the request but who asked', async () => {
  const append = jest.fn().mockResolvedValue(STORED);
  const log = { eventStore: { append } as never, now: () => '2026-11-22T10:00:00.000000Z', newId: () => 'an id' };
  const who = { tenant: 'acme', actor: { kind: 'system', id: 'test' }, correlationId: 'c', causationId: 'c' } as const;
  const events = [{ type: 'OrderCreated', data: {} }] as const;
  await appendIfUnchanged(log, { ...who, deadline }, 'order-1', NO_STREAM, events);
  const [, [stored], , { until }] = append.mock.calls[0];
  expect(stored.metadata).toEqual({
    ...who,
    occurredAt: '2026-11-22T10:00:00.000000Z',
    schemaVersion: expect.any(Number),
  });
  expect(until).toBeGreaterThan(Date.now());
});

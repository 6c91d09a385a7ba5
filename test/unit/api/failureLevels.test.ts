/** What any client can cause is a warning in the log, without a stack: errors are what nobody foresaw. */
import { errorHandler } from '#app/api/errors.js';
import { TryAgainError } from '#app/commands/context.js';
import { DeadlineError } from '#app/supervision/deadline.js';

function loggedFor(error: unknown): readonly (readonly [level: string, about: object])[] {
  const logged: [string, object][] = [];
  const log = {
    warn: (about: object) => logged.push(['warn', about]),
    error: (about: object) => logged.push(['error', about]),
  };
  const context = { ids: { requestId: 'r1' }, deadline: {} };
  const res = { headersSent: true, destroy: () => undefined };
  errorHandler(log as never)(
    error,
    { context, method: 'PUT', originalUrl: '/x' } as never,
    res as never,
    () => undefined,
  );
  return logged;
}

test('a write that waited for the read models in vain', () => {
  const reason = 'The read model of dyn_item has not caught up yet.';
  expect(loggedFor(new TryAgainError(reason))).toMatchObject([
    ['warn', { requestId: 'r1', reason: expect.any(String) }],
  ]);
});

test('a request that took longer than it may', () => {
  expect(loggedFor(new DeadlineError())).toMatchObject([['warn', { requestId: 'r1' }]]);
});

test('an error of the program', () => {
  expect(loggedFor(new TypeError('no'))).toMatchObject([['error', { err: { message: 'no' } }]]);
});

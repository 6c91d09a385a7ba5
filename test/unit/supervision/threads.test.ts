import { sendable } from '#app/supervision/threads.js';

/** As SQLite's driver has it: no class of the language. */
class DriverError {
  readonly message = 'database or disk is full';
  readonly stack = 'DriverError: database or disk is full\n    at somewhere';
}
Object.setPrototypeOf(DriverError.prototype, Error.prototype);

test('an error arrives in another thread with its message, its stack and its cause, whatever its class', () => {
  const error = new Error('It stopped.', { cause: new DriverError() });
  const { message, cause } = structuredClone(sendable(error));
  expect(message).toBe('It stopped.');
  expect(cause).toMatchObject({
    message: 'database or disk is full',
    stack: expect.stringContaining('at somewhere'),
  });
});

test('what is thrown and is no error becomes one', () => {
  expect(sendable('a text').message).toBe('a text');
});

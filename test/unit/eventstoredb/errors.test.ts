import { convertToCommandError } from '@eventstore/db-client';
import { Metadata, status } from '@grpc/grpc-js';
import { isTransient, isUnsent } from '#app/adapters/eventstore/eventstoredb/server.js';

/** What the client throws where a call ends like this. */
function failed(code: status, details: string, told: Readonly<Record<string, string>> = {}) {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(told)) metadata.set(name, value);
  const error = Object.assign(new Error(`${code} ${status[code]}: ${details}`), { code, details, metadata });
  return convertToCommandError(error);
}
const leader = { 'leader-endpoint-host': '127.0.0.1', 'leader-endpoint-port': '2113' };

test.each([
  ['its connection was lost', failed(status.UNAVAILABLE, 'Connection dropped')],
  ['the server was stopped', failed(status.INTERNAL, 'Received RST_STREAM with code 0')],
])('%s: the events may be stored', (_, error) => {
  expect([isTransient(error), isUnsent(error)]).toEqual([true, false]);
});

test.each([
  [
    'there was no connection',
    failed(status.UNAVAILABLE, 'No connection established. Last error: connect ECONNREFUSED'),
  ],
  ['the server is busy', failed(status.UNAVAILABLE, 'Server Is Too Busy')],
  ['the node leads no more', failed(status.NOT_FOUND, '', { exception: 'not-leader', ...leader })],
  ['no node says who leads', new Error('Failed to discover after 10 attempts.')],
])('%s: nothing was stored, and it is tried again', (_, error) => {
  expect([isTransient(error), isUnsent(error)]).toEqual([true, true]);
});

test.each([
  ['the server does not know the user', failed(status.UNAUTHENTICATED, '')],
  ['the user may not append', failed(status.PERMISSION_DENIED, '', { exception: 'access-denied' })],
])('%s: it is not tried again', (_, error) => {
  expect(isTransient(error)).toBe(false);
});

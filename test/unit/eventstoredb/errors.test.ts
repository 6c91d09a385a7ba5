import { NotLeaderError } from '@eventstore/db-client';
import { Metadata, status } from '@grpc/grpc-js';
import { CutOffError, cutOff, isTransient, isUnsent } from '#app/adapters/eventstore/eventstoredb/errors.js';

const failed = (code: status, details: string, metadata = new Metadata()) =>
  Object.assign(new Error(`${code} ${status[code]}: ${details}`), { code, details, metadata });

function told(code: status, details: Readonly<Record<string, string>>) {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(details)) metadata.set(name, value);
  return failed(code, '', metadata);
}
const notLeader = () =>
  told(status.NOT_FOUND, {
    exception: 'not-leader',
    'leader-endpoint-host': '127.0.0.1',
    'leader-endpoint-port': '2113',
  });

describe('a call that appends share has failed', () => {
  test.each([
    ['its connection was lost', failed(status.UNAVAILABLE, 'Connection dropped')],
    ['the server was stopped', failed(status.INTERNAL, 'Received RST_STREAM with code 0')],
    ['one of the appends came to a node that leads no more', notLeader()],
    ['the server is busy', failed(status.UNAVAILABLE, 'Server Is Too Busy')],
  ])('%s: others may have been stored before', (_, failure) => {
    const error = cutOff(failure);
    expect(error).toBeInstanceOf(CutOffError);
    expect([isTransient(error), isUnsent(error)]).toEqual([true, false]);
  });

  test('there was no connection: nothing was stored', () => {
    const error = cutOff(failed(status.UNAVAILABLE, 'No connection established. Last error: connect ECONNREFUSED'));
    expect([isTransient(error), isUnsent(error)]).toEqual([true, true]);
  });

  test.each([
    ['the server does not know the user', failed(status.UNAUTHENTICATED, '')],
    ['the user may not append', told(status.PERMISSION_DENIED, { exception: 'access-denied' })],
  ])('%s: it is not made again', (_, failure) => {
    expect(isTransient(cutOff(failure))).toBe(false);
  });
});

test('a call of its own that came to a node which leads no more stored nothing', () => {
  expect(isUnsent(new NotLeaderError(notLeader()))).toBe(true);
});

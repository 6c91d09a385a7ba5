import { ConnectionStringError, connect } from '#app/adapters/eventstore/eventstoredb/connection.js';

test.each([
  ['http://ops:secret@db.example', 'cannot read it'],
  ['esdb://ops:secret@db.example?tlsVerifyCert=false', 'tlsCAFile'],
  ['esdb://ops:secret@db.example?throwOnAppendFailure=false', 'unknown option throwOnAppendFailure'],
  ['esdb://ops:secret@db.example?tls=maybe', 'cannot read it'],
  ['esdb://ops:secret@db.example?tlsCAFile=/no', 'EVENTSTORE_URL is refused: the certificate file /no '],
  ['esdb://ops:secret@db.example?userKeyFile=/nowhere', 'go together'],
  ['esdb://ops:secret@db.example?keepAliveInterval=-5', 'cannot read it'],
  ['esdb://ops:%zz@db.example', 'not URL-encoded'],
])('%s is refused without a word of its secrets', (url, reason) => {
  const warn = jest.spyOn(console, 'warn');
  const refused = () => connect(url)();
  expect(refused).toThrow(ConnectionStringError);
  expect(refused).toThrow(reason);
  expect(refused).not.toThrow('secret');
  expect(warn).not.toHaveBeenCalled();
});

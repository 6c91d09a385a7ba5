import { connect } from '#app/adapters/eventstore/eventstoredb/connection.js';

const credentials = (url: string) => connect(url).appendCredentials;

test('user and password come from the URL', () => {
  expect(credentials('esdb://ad%40min:p%3Aw@db.example:2113')).toEqual({ username: 'ad@min', password: 'p:w' });
  expect(credentials('esdb+discover://ops:changeit@cluster.example')).toEqual({
    username: 'ops',
    password: 'changeit',
  });
  expect(credentials('kurrentdb://ops:changeit@one:2113,two:2113')).toEqual({ username: 'ops', password: 'changeit' });
});

test('without TLS there is nobody to be, with TLS and no user there is nothing to send', () => {
  expect(credentials('esdb://127.0.0.1:2113?tls=false')).toEqual({ username: '', password: '' });
  expect(credentials('esdb://db.example:2113')).toBeUndefined();
});

test.each([
  ['http://ops:secret@db.example', 'cannot read it'],
  ['esdb://ops:secret@db.example?tlsVerifyCert=false', 'tlsCAFile'],
  ['esdb://ops:secret@db.example?throwOnAppendFailure=false', 'unknown option throwOnAppendFailure'],
  ['esdb://ops:secret@db.example?tls=maybe', 'cannot read it'],
  ['esdb://ops:secret@db.example?tlsCAFile=/nowhere', 'certificate'],
  ['esdb://ops:secret@db.example?userKeyFile=/nowhere', 'go together'],
  ['esdb://ops:secret@db.example?keepAliveInterval=-5', 'cannot read it'],
  ['esdb://ops:%zz@db.example', 'not URL-encoded'],
])('%s is refused without a word of its secrets', (url, reason) => {
  const warn = jest.spyOn(console, 'warn');
  const refusal = (() => {
    try {
      connect(url);
    } catch (error) {
      return error;
    }
    return undefined;
  })();
  expect(refusal).toMatchObject({ name: 'ConnectionStringError', message: expect.stringContaining(reason) });
  expect(String(refusal)).not.toContain('secret');
  expect(warn).not.toHaveBeenCalled();
});

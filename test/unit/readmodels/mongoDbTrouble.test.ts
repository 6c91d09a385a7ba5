import { MongoClient, MongoNetworkError, MongoServerError } from 'mongodb';
import { CONSISTENCY, troubleOf } from '#app/adapters/readmodels/mongodb/connection.js';

const answered = (code: number) => new MongoServerError({ ok: 0, code, errmsg: 'Not now.' });

it.each([6, 89, 91, 133, 189, 9001, 10107, 11600, 11602, 13435, 13436])('code %i: the server is away', (code) => {
  expect(troubleOf(answered(code))).toBe('away');
});

it.each([50, 134, 262, 365, 462, 13388])('code %i: the server is busy, and others may be answered', (code) => {
  expect(troubleOf(answered(code))).toBe('busy');
});

it('other errors do not pass by themselves', () => {
  for (const error of [answered(2), answered(11000), new Error('ours'), 'thrown'])
    expect(troubleOf(error)).toBeUndefined();
});

it('a broken connection passes', () => {
  expect(troubleOf(new MongoNetworkError('closed'))).toBe('away');
  expect(troubleOf(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))).toBe('away');
});

it('a URL that asks for reads of secondaries or weaker writes changes nothing', async () => {
  const url = 'mongodb://127.0.0.1:1/a?readPreference=secondaryPreferred&readConcernLevel=available&w=0';
  const { readPreference, readConcern, writeConcern } = new MongoClient(url, CONSISTENCY).options;
  expect(readPreference.mode).toBe('primary');
  expect(readConcern?.level).toBe('local');
  expect(writeConcern.w).toBe('majority');
});

/** Requests that are refused, and that would cost much to read: the largest that the limits let in, of each kind. */
import { gzipSync } from 'node:zlib';
import { ASSETS, PLATFORM } from '../acceptance/tenant.js';

export type HostileRequest = {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly raw?: string | Buffer;
  readonly headers?: { readonly [name: string]: string };
  readonly status: number;
};

const ITEMS = `${ASSETS}/dyn_item/assets`;
const BATCH = `${ITEMS}/batch`;
const times = (text: string, length: number): string => text.repeat(Math.floor(length / text.length));
const megabytes = (text: string): string => times(text, 4_000_000);
const JSON_TYPE = { 'content-type': 'application/json' };
const BLANKS = { 'content-type': `application/json${' '.repeat(15_000)}x` };

const unreadable = (name: string, raw: string, status: number, headers: HostileRequest['headers'] = JSON_TYPE) =>
  ({ name, method: 'POST', path: BATCH, raw, headers, status }) as const;
const members = Array.from({ length: 100_000 }, (_, n) => `"k${n}":0`).join(',');
export const UNREADABLE: readonly HostileRequest[] = [
  unreadable('15,000 blanks in its Content-Type', '{}', 415, BLANKS),
  unreadable('4 MB of opening brackets', megabytes('['), 400),
  unreadable('4 MB of nested objects', megabytes('{"a":'), 400),
  unreadable('4 MB of zeros', megabytes('0'), 400),
  unreadable('a number of 4 MB', `{"items":[${megabytes('7')}]}`, 422),
  unreadable('a string of 4 MB that does not end', `{"items":["${megabytes('\\"')}`, 400),
  unreadable('4 MB of long numbers', `{"items":[${megabytes('12345678901234567,')}0]}`, 413),
  unreadable('an object of 100,000 members', `{${members}}`, 422),
  unreadable('4 MB of empty objects', `{"items":[${megabytes('{},')}{}]}`, 413),
];

const unknownFields = (count: number, of: number): string =>
  Array.from({ length: count }, (_, n) => `"k${of}_${n}":0`).join(',');
const compressed = (name: string, json: string): HostileRequest => ({
  name,
  method: 'POST',
  path: BATCH,
  raw: gzipSync(json),
  headers: { ...JSON_TYPE, 'content-encoding': 'gzip' },
  status: 422,
});
const wrongItem = (n: number): string => `{"external_id":"${n}","name":5,"description":"${'x'.repeat(4_000)}"}`;
export const WRONG_BATCHES: readonly HostileRequest[] = [
  compressed(
    '100,000 unknown fields',
    `{"items":[${Array.from({ length: 10 }, (_, n) => `{${unknownFields(10_000, n)}}`).join(',')}]}`,
  ),
  compressed(
    'five hundred unknown fields of 7,000 characters',
    `{"items":[${times(`{"${'k'.repeat(7_000)}":0},`, 3_500_000)}{}]}`,
  ),
  compressed('numbers for items', `{"items":[${Array(1_000).fill('7').join(',')}]}`),
  compressed('10,000 fields beside its items', `{"items":[{}],${unknownFields(9_999, 0)}}`),
  compressed('100,000 items', `{"items":[${Array(100_000).fill('7').join(',')}]}`),
  compressed('4 MB of wrong items', `{"items":[${Array.from({ length: 1_000 }, (_, n) => wrongItem(n)).join(',')}]}`),
];

const setting = (name: string, path: string, raw: string): HostileRequest => ({
  name,
  method: 'POST',
  path: `${PLATFORM}${path}`,
  raw,
  headers: JSON_TYPE,
  status: 422,
});
const userWith = (more: string, email = 'eva@example.com'): string =>
  `{"email":"${email}","password":"a long enough password","first_name":"E","last_name":"S",${more}}`;
const many = (text: string): string => times(text, 150_000);
/** With the field that has the one error. */
export const LONG_ARRAYS: readonly (HostileRequest & { readonly field: string })[] = [
  { field: 'roles', ...setting('roles of a user', '/users', userWith(`"roles":[${many('0,')}0]`)) },
  { field: 'scopes', ...setting('scopes of a client', '/api-clients', `{"name":"x","scopes":[${many('0,')}0]}`) },
  {
    field: 'events',
    ...setting('events of a webhook', '/webhooks', `{"url":"https://127.0.0.1/","events":[${many('0,')}0]}`),
  },
  { field: 'fields', ...setting('fields of a table', '/asset-types', `{"name":"dyn_x","fields":[${many('{},')}{}]}`) },
];

const url = (name: string, path: string, status: number, headers: HostileRequest['headers'] = {}): HostileRequest => ({
  name,
  method: 'GET',
  path,
  headers,
  status,
});
export const LONG_URLS: readonly HostileRequest[] = [
  url('16 KB of parameters', `${ITEMS}?${'a&'.repeat(7_000)}`, 400),
  url('16 KB of brackets', `${ITEMS}?${'['.repeat(14_000)}`, 400),
  url('16 KB of commas', `${ITEMS}?sort=${','.repeat(14_000)}`, 400),
  url('16 KB of escaped commas', `${ITEMS}?filter[name]=${'\\,'.repeat(7_000)}`, 400),
  url('16 KB of zeros', `${ITEMS}?page=${'0'.repeat(14_000)}`, 400),
  url('16 KB of path segments', `${ASSETS}${'/a'.repeat(7_000)}`, 404),
  url('16 KB of blanks in Authorization', ITEMS, 401, { authorization: `Bearer ${' '.repeat(14_000)}\u00e9` }),
  url('16 KB of signs in Authorization', ITEMS, 401, { authorization: `Bearer ${'='.repeat(14_000)}x` }),
  url('16 KB of cookies', `${PLATFORM}/session`, 401, { authorization: '', cookie: 'a=b;'.repeat(3_500) }),
];

export const HOSTILE_REQUESTS = [...UNREADABLE, ...WRONG_BATCHES, ...LONG_ARRAYS, ...LONG_URLS];

/** The answers while a table as it was is being made, and where it cannot be. */
import type { Request } from 'express';
import { unlessBuilding } from '#app/api/assets/moments.js';
import type { Api } from '#app/api/deps.js';
import { answerTo } from '#app/api/errors.js';
import { PastTableBuildingError, PastTableRefusedError, PastTablesBusyError } from '#app/ports/pastTables.js';

const api = { config: { trustProxy: 0 } } as Api;
const path = '/api/v1/dynamic-assets/dyn/dyn_item';
const request = (rest: string) =>
  ({ protocol: 'http', headers: { host: 'acme.localhost' }, baseUrl: path, path: rest }) as Request;

test('a list is 202 while its table is made, and Location asks for the same at the position of the moment', async () => {
  const query = new URLSearchParams('at=2026-11-21T03:11:47Z&filter[name]=a&sort=-code');
  const reply = await unlessBuilding(api, request('/assets'), query, { at: 42 }, () =>
    Promise.reject(new PastTableBuildingError(0.123_456)),
  );
  expect(reply).toMatchObject({ status: 202, headers: { 'Retry-After': '1', 'Cache-Control': 'no-store' } });
  const location = new URL(String(reply.headers?.Location));
  expect(location.origin + location.pathname).toBe(`http://acme.localhost${path}/assets`);
  expect(Object.fromEntries(location.searchParams)).toEqual({ at: '42', 'filter[name]': 'a', sort: '-code' });
  expect(JSON.parse(String(reply.body))).toEqual({ data: { position: 42, progress: 0.123 } });
});

test('a comparison is 202 as well: Location names both positions, and the body the later one', async () => {
  const query = new URLSearchParams('from=2026-11-21&to=2026-11-22');
  const reply = await unlessBuilding(api, request('/compare'), query, { from: 7, to: 9 }, () =>
    Promise.reject(new PastTableBuildingError(0)),
  );
  expect(new URL(String(reply.headers?.Location)).search).toBe('?from=7&to=9');
  expect(JSON.parse(String(reply.body))).toEqual({ data: { position: 9, progress: 0 } });
});

test('what is made already is answered as it is, and other errors stay what they are', async () => {
  const ask = (work: () => Promise<{ readonly body: string }>) =>
    unlessBuilding(api, request('/assets'), new URLSearchParams(), { at: 1 }, work);
  expect(await ask(async () => ({ body: 'made' }))).toEqual({ body: 'made' });
  await expect(ask(() => Promise.reject(new PastTablesBusyError('busy')))).rejects.toThrow(PastTablesBusyError);
});

test('too many copies at once are 429 with Retry-After, and no room is 507 with the limit', () => {
  expect(answerTo(new PastTablesBusyError('16 are in use'))).toMatchObject({
    status: 429,
    body: { error: '16 are in use' },
    headers: { 'Retry-After': '5' },
  });
  expect(answerTo(new PastTableRefusedError('PAST_TABLES_BYTES'))).toMatchObject({
    status: 507,
    body: { error: 'PAST_TABLES_BYTES' },
  });
});

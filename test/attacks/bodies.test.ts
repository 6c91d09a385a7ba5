/** What a body can make the service do: how large it may be, and that reading and refusing it costs little. */
import { gzipSync } from 'node:zlib';
import { addWebhook } from '../acceptance/export.js';
import type { Answer } from '../acceptance/http.js';
import { expectErrorBody, expectInvalid, expectRefused, fieldErrors } from '../acceptance/refusals.js';
import { ASSETS, PLATFORM } from '../acceptance/tenant.js';
import { useService } from '../acceptance/useService.js';
import { scaled } from '../engines/timeScale.js';
import { watched } from './probe.js';

const run = useService({ tenants: { acme: 'dyn_stock_order' }, env: { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' } });
const acme = () => run.tenant('acme');

const ITEMS = `${ASSETS}/dyn_item/assets`;
const BATCH = `${ITEMS}/batch`;
const MEGABYTES = 8_000_000;
const times = (text: string, length = MEGABYTES): string => text.repeat(Math.floor(length / text.length));

/** Ten times what they take on a machine that is not busy; without the limits they took minutes. */
const TIME_MS = scaled(5_000);
const WAIT_MS = scaled(2_000);
/** 100 messages that name a field of 64 characters have half of it. */
const ANSWER_BYTES = 65_536;

/** Sends, and checks that it is refused in a moment, in few bytes, while others are served. */
async function expectCheap(status: number, send: () => Promise<Answer>): Promise<Answer> {
  const { result, ms, longestWaitMs } = await watched(run.service, () => expectRefused(run.service, status, send));
  expect(Buffer.byteLength(result.text)).toBeLessThanOrEqual(ANSWER_BYTES);
  expect(ms).toBeLessThan(TIME_MS);
  expect(longestWaitMs).toBeLessThan(WAIT_MS);
  return result;
}

const messagesIn = (answer: Answer): number => [...fieldErrors(answer).values()].flat().length;

describe('bytes', () => {
  const padded = (json: string, length: number): string => json.padEnd(length, ' ');
  const RECORD_ID = '01a1feb1-9a64-76fa-95fa-131ef9230738';

  it.each([
    ['POST', '/oauth/token', 4_096],
    ['POST', `${PLATFORM}/session`, 4_096],
    ['POST', `${PLATFORM}/users`, 262_144],
    ['PUT', `${PLATFORM}/tenant/rate-limit`, 262_144],
    ['POST', `${PLATFORM}/webhooks`, 262_144],
    ['PUT', `${PLATFORM}/orders/${RECORD_ID}`, 2_097_152],
    ['POST', ITEMS, 2_097_152],
    ['PUT', `${ITEMS}/${RECORD_ID}`, 2_097_152],
    ['POST', `${ITEMS}/clean-up`, 262_144],
    ['POST', BATCH, 8_388_608],
  ])('%s %s reads %i bytes and not one more', async (method, path, limit) => {
    const token = path.startsWith(PLATFORM) ? await acme().signIn() : await acme().token();
    const send = (length: number) =>
      acme().send(method, path, { raw: padded('{', length), token: path === '/oauth/token' ? null : token });
    expect(await send(limit)).toMatchObject({ status: 400 });
    const answer = await send(limit + 1);
    expect(answer.status).toBe(413);
    expect(answer.text).toContain(`${limit} bytes`);
  });

  it('a token request as a form has the same limit', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const send = (length: number) =>
      acme().send('POST', '/oauth/token', { raw: 'grant_type='.padEnd(length, 'a'), headers, token: null });
    expect(await send(4_096)).toMatchObject({ status: 401 });
    expect(await send(4_097)).toMatchObject({ status: 413 });
  });

  it('what a compressed body unpacks to counts', async () => {
    const headers = { 'content-encoding': 'gzip' };
    const send = (length: number) => acme().send('POST', ITEMS, { raw: gzipSync(padded('{', length)), headers });
    expect(await send(2_097_152)).toMatchObject({ status: 400 });
    expect(await send(2_097_153)).toMatchObject({ status: 413 });
  });
});

describe('reading', () => {
  const unknownMembers = Array.from({ length: 200_000 }, (_, n) => `"k${n}":0`).join(',');
  it.each([
    ['62 bytes', '15,000 blanks in its Content-Type', '{}', `application/json${' '.repeat(15_000)}x`, 415],
    ['8 MB', 'opening brackets', times('['), 'application/json', 400],
    ['8 MB', 'nested objects', times('{"a":'), 'application/json', 400],
    ['8 MB', 'zeros', times('0'), 'application/json', 400],
    ['8 MB', 'one number', `{"items":[${times('7')}]}`, 'application/json', 400],
    ['8 MB', 'a string that does not end', `{"items":["${times('\\"')}`, 'application/json', 400],
    ['8 MB', 'long numbers', `{"items":[${times('12345678901234567,')}0]}`, 'application/json', 413],
    ['3 MB', 'one object', `{${unknownMembers}}`, 'application/json', 413],
    ['8 MB', 'empty objects', `{"items":[${times('{},')}{}]}`, 'application/json', 413],
  ])('a body of %s with %s is refused in a moment', async (_size, _what, raw, type, status) => {
    await expectCheap(status, () => acme().send('POST', BATCH, { raw, headers: { 'content-type': type } }));
  });

  it('nor does it take longer before anybody is known', async () => {
    const raw = `{"a":${'1'.repeat(4_000)}`;
    const blanks = { 'content-type': `application/json${' '.repeat(15_000)}x` };
    await expectCheap(401, () => acme().send('POST', `${PLATFORM}/users`, { raw, headers: blanks, token: 'x' }));
    for (const path of ['/oauth/token', `${PLATFORM}/session`]) {
      const { ms } = await watched(run.service, () => acme().send('POST', path, { raw, token: null }));
      expect(ms).toBeLessThan(TIME_MS);
    }
  });
});

describe('refusing', () => {
  const unknown = (count: number, of: number): string =>
    Array.from({ length: count }, (_, n) => `"k${of}_${n}":0`).join(',');
  const user = (more: string): string =>
    `{"email":"eva@example.com","password":"a long enough password","first_name":"E","last_name":"S",${more}}`;

  it.each([
    ['roles of a user', `${PLATFORM}/users`, user(`"roles":[${times('0,', 250_000)}0]`), 'roles'],
    ['scopes of a client', `${PLATFORM}/api-clients`, `{"name":"x","scopes":[${times('0,', 250_000)}0]}`, 'scopes'],
    [
      'events of a webhook',
      `${PLATFORM}/webhooks`,
      `{"url":"https://127.0.0.1/","events":[${times('0,', 250_000)}0]}`,
      'events',
    ],
    [
      'fields of a table',
      `${PLATFORM}/asset-types`,
      `{"name":"dyn_x","fields":[${times('{},', 250_000)}{}]}`,
      'fields',
    ],
  ])('an array that is too long is one error, whatever is in it: %s', async (_what, path, raw, field) => {
    const answer = await expectCheap(422, () => acme().platform('POST', path.slice(PLATFORM.length), { raw }));
    expect([...fieldErrors(answer)]).toEqual([[field, [expect.stringMatching(/must have at most (100|200) /)]]]);
  });

  it('error_reason has at most 100 entries, and 64 KB in all', async () => {
    const create = (reasons: unknown) => acme().postRecord('dyn_stock_order', { error_reason: reasons });
    const long = 'x'.repeat(6_550);
    for (const reasons of [Array(101).fill(0), Array(10).fill(`${long}${'x'.repeat(10)}`)]) {
      await expectInvalid(run.service, ['error_reason'], () => create(reasons));
    }
    expect((await create(Array(9).fill(long))).status).toBe(201);
    expect((await create(Array(100).fill('x'))).status).toBe(201);
  });

  it('an answer names 100 errors, cuts the names of unknown fields, and says that there are more', async () => {
    const long = (count: number) => Array.from({ length: count }, (_, n) => `"${n}-${'k'.repeat(1_000)}":0`).join(',');
    const answer = await expectCheap(422, () => acme().platform('POST', '/users', { raw: `{${long(250)}}` }));
    expect(fieldErrors(answer).get(`7-${'k'.repeat(62)}…`)).toHaveLength(1);
    expect(messagesIn(answer)).toBe(100);
    expect(answer.body).toMatchObject({
      message: expect.stringContaining('(At least 154 more errors are not listed here.)'),
    });
  });

  it.each([
    ['unknown fields', `{"items":[${Array.from({ length: 20 }, (_, n) => `{${unknown(10_000, n)}}`).join(',')}]}`],
    ['long unknown fields', `{"items":[${times(`{"${'k'.repeat(7_000)}":0},`, 7_000_000)}{}]}`],
    ['numbers for items', `{"items":[${Array(1_000).fill('7').join(',')}]}`],
    ['fields beside its items', `{"items":[{}],${unknown(9_999, 0)}}`],
    ['too many items', `{"items":[${Array(200_000).fill('7').join(',')}]}`],
  ])('a batch of %s is refused in a moment, also where it is compressed', async (_what, raw) => {
    const headers = { 'content-encoding': 'gzip' };
    const answer = await expectCheap(422, () => acme().send('POST', BATCH, { raw: gzipSync(raw), headers }));
    expect(messagesIn(answer)).toBeLessThanOrEqual(100);
  });

  it('every value of a full batch of the widest table may be wrong', async () => {
    const names = Array.from({ length: 199 }, (_, n) => `field_${n}`);
    const fields = [
      { name: 'external_id', type: 'String', required: true },
      ...names.map((name) => ({ name, type: 'Date' })),
    ];
    await acme().platformData('POST', '/asset-types', { name: 'dyn_wide', fields });
    const item = Object.fromEntries(fields.map(({ name }) => [name, true]));
    const items = Array.from({ length: 1_000 }, () => item);
    const answer = await expectCheap(422, () => acme().postBatch('dyn_wide', { items }));
    expect(messagesIn(answer)).toBe(100);
  });

  it('an e-mail address is at most 320 characters', async () => {
    const raw = user(`"roles":["admin"]`).replace('eva@example.com', `a@${'a.'.repeat(100_000)}nl`);
    const answer = await expectCheap(422, () => acme().platform('POST', '/users', { raw }));
    expect([...fieldErrors(answer).keys()]).toEqual(['email']);
  });
});

describe('custom_data', () => {
  const send = (customData: string) =>
    acme().platform('POST', '/webhooks', { raw: `{"url":"https://127.0.0.1/","custom_data":${customData}}` });

  it.each(['{"__proto__":{"a":1}}', '{"a":[{"__proto__":1}]}', '{"a":{"\\u005f_proto__":1}}'])(
    '%s, which JavaScript would lose, is 422',
    async (customData) => {
      await expectInvalid(run.service, ['custom_data'], () => send(customData));
    },
  );

  it.each(['{"a":12345678901234567890}', '{"a":{"b":[1e400]}}', '{"a":0.12345678901234567890}'])(
    '%s, which would be rounded, is 400',
    async (customData) => {
      const answer = await expectRefused(run.service, 400, () => send(customData));
      expect(answer.text).toContain('has more digits than can be kept; send it as text.');
    },
  );

  it('all else is kept as it was given', async () => {
    const given = { constructor: 1, long: '12345678901234567890', toString: null, nested: [{ hasOwnProperty: 1.5 }] };
    const answer = await send(JSON.stringify(given));
    expect(answer).toMatchObject({ status: 201 });
    expect(JSON.parse(answer.text).data.custom_data).toEqual(given);
  });
});

it('forty compressed bodies of 8 MB at once take turns, and do not fill the memory', async () => {
  const items = Array.from(
    { length: 1_000 },
    (_, n) => `{"external_id":"${n}","name":5,"description":"${'x'.repeat(8_000)}"}`,
  );
  const raw = gzipSync(`{"items":[${items.join(',')}]}`);
  const headers = { 'content-encoding': 'gzip' };
  const send = () => acme().send('POST', BATCH, { raw, headers });
  const { result, longestWaitMs } = await watched(run.service, () => Promise.all(Array.from({ length: 40 }, send)));
  expect(new Set(result.map(({ status }) => status).filter((status) => status !== 429))).toEqual(new Set([422]));
  expect(longestWaitMs).toBeLessThan(WAIT_MS);
  const { text } = await run.service.send({ method: 'GET', path: '/metrics' });
  const resident = Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]);
  // Eight of them in work at once are 0.45 GB.
  expect(resident).toBeLessThan(1_500_000_000);
});

it('a tenant has at most 100 webhooks, and a new one fits when another is removed', async () => {
  const { id } = await addWebhook(acme(), 'https://127.0.0.1:9/orders');
  const before = JSON.parse((await acme().platform('GET', '/webhooks')).text).data.length;
  for (let count = before; count < 100; count += 1) await addWebhook(acme(), 'https://127.0.0.1:9/orders');
  const add = () => acme().platform('POST', '/webhooks', { body: { url: 'https://127.0.0.1:9/orders' } });
  const refused = await expectRefused(run.service, 409, add);
  expectErrorBody(refused);
  expect(refused.text).toContain('no more than 100 fit');
  await acme().platform('DELETE', `/webhooks/${id}`);
  expect((await add()).status).toBe(201);
});

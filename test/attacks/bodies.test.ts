/** What a body can make the service do: how large it may be, and that its refusal is short. */
import { gzipSync } from 'node:zlib';
import { addWebhook } from '../acceptance/export.js';
import type { Answer } from '../acceptance/http.js';
import { expectErrorBody, expectInvalid, expectRefused, fieldErrors } from '../acceptance/refusals.js';
import { ASSETS, PLATFORM } from '../acceptance/tenant.js';
import { useService } from '../acceptance/useService.js';
import { type HostileRequest, LONG_ARRAYS, UNREADABLE, userWith, WRONG_BATCHES } from './hostileRequests.js';

const run = useService({ tenants: { acme: 'dyn_stock_order' }, env: { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' } });
const acme = () => run.tenant('acme');

const ITEMS = `${ASSETS}/dyn_item/assets`;
const BATCH = `${ITEMS}/batch`;
/** 100 messages that name a field of 64 characters have half of it. */
const ANSWER_BYTES = 65_536;

/** Sends, and checks that it is refused in few bytes. What it costs others is seen by `test/crowds`. */
async function expectShortRefusal(status: number, send: () => Promise<Answer>): Promise<Answer> {
  const answer = await expectRefused(run.service, status, send);
  expect(Buffer.byteLength(answer.text)).toBeLessThanOrEqual(ANSWER_BYTES);
  return answer;
}

const sendHostile = async ({ method, path, raw = '', headers = {} }: HostileRequest): Promise<Answer> => {
  const token = path.startsWith(PLATFORM) ? await acme().signIn() : await acme().token();
  return acme().send(method, path, { raw, headers, token });
};

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
  it.each(UNREADABLE)('a body of $name is refused', async (request) => {
    await expectShortRefusal(request.status, () => sendHostile(request));
  });

  it('a stranger is refused before the body is read', async () => {
    const headers = { 'content-type': `application/json${' '.repeat(15_000)}x` };
    await expectShortRefusal(401, () => acme().send('POST', `${PLATFORM}/users`, { raw: '{', headers, token: 'x' }));
  });
});

describe('refusing', () => {
  it.each(LONG_ARRAYS)(
    'an array that is too long is one error, whatever is in it: $name',
    async ({ field, ...request }) => {
      const answer = await expectShortRefusal(422, () => sendHostile(request));
      expect([...fieldErrors(answer)]).toEqual([[field, [expect.stringMatching(/must have at most (100|200) /)]]]);
    },
  );

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
    const answer = await expectShortRefusal(422, () => acme().platform('POST', '/users', { raw: `{${long(250)}}` }));
    expect(fieldErrors(answer).get(`7-${'k'.repeat(62)}…`)).toHaveLength(1);
    expect(messagesIn(answer)).toBe(100);
    expect(answer.body).toMatchObject({
      message: expect.stringContaining('(At least 154 more errors are not listed here.)'),
    });
  });

  it.each(WRONG_BATCHES)('a compressed batch of $name is refused', async (request) => {
    const answer = await expectShortRefusal(422, () => sendHostile(request));
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
    const answer = await expectShortRefusal(422, () => acme().postBatch('dyn_wide', { items }));
    expect(messagesIn(answer)).toBe(100);
  });

  it('an e-mail address is at most 320 characters', async () => {
    const raw = userWith('"roles":["admin"]', `a@${'a.'.repeat(100_000)}nl`);
    const answer = await expectShortRefusal(422, () => acme().platform('POST', '/users', { raw }));
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

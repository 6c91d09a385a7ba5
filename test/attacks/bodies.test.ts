/** A refused body gets a short answer, however large its contents are. */
import { MAX_WEBHOOKS } from '#app/domain/limits.js';
import { addWebhook } from '../acceptance/export.js';
import type { Answer } from '../acceptance/http.js';
import { expectErrorBody, expectRefused, fieldErrors } from '../acceptance/refusals.js';
import { PLATFORM } from '../acceptance/tenant.js';
import { useService } from '../acceptance/useService.js';
import { type HostileRequest, LONG_ARRAYS, LONG_URLS, UNREADABLE, WRONG_BATCHES } from './hostileRequests.js';

const { acme, service } = useService({ tenants: { acme: 'dyn_stock_order' } });

/** 100 messages that name a field of 64 characters have half of it. */
const ANSWER_BYTES = 65_536;

/** Sends, and checks that it is refused in few bytes. What it costs others is seen by `test/crowds`. */
async function expectShortRefusal(status: number, send: () => Promise<Answer>): Promise<Answer> {
  const answer = await expectRefused(service(), status, send);
  expect(Buffer.byteLength(answer.text)).toBeLessThanOrEqual(ANSWER_BYTES);
  return answer;
}

const sendHostile = async ({ method, path, raw, headers = {} }: HostileRequest): Promise<Answer> => {
  const token = path.startsWith(PLATFORM) ? await acme().signIn() : await acme().token();
  return acme().send(method, path, { headers, token, ...(raw === undefined ? {} : { raw }) });
};

const messagesIn = (answer: Answer): number => [...fieldErrors(answer).values()].flat().length;

describe('reading', () => {
  it.each(UNREADABLE)('a body of $name is refused', async (request) => {
    await expectShortRefusal(request.status, () => sendHostile(request));
  });

  it.each(LONG_URLS)('a request with $name is refused', async (request) => {
    await expectShortRefusal(request.status, () => sendHostile(request));
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

  it('error_reason may have 100 entries, and 64 KB in all', async () => {
    for (const reasons of [Array(9).fill('x'.repeat(6_550)), Array(100).fill('x')])
      expect((await acme().postRecord('dyn_stock_order', { error_reason: reasons })).status).toBe(201);
  });

  it('an answer names 100 errors, cuts the names of unknown fields, and says that there are more', async () => {
    const long = (count: number) => Array.from({ length: count }, (_, n) => `"${n}-${'k'.repeat(1_000)}":0`).join(',');
    const answer = await expectShortRefusal(422, () => acme().platform('POST', '/users', { raw: `{${long(250)}}` }));
    expect(fieldErrors(answer).get(`7-${'k'.repeat(62)}…`)).toHaveLength(1);
    expect(messagesIn(answer)).toBe(100);
    expect(answer.body).toMatchObject({
      message: expect.stringContaining('(There may be more errors than these 100.)'),
    });
  });

  it.each(WRONG_BATCHES)('a compressed batch of $name is refused', async (request) => {
    const answer = await expectShortRefusal(422, () => sendHostile(request));
    expect(messagesIn(answer)).toBeLessThanOrEqual(100);
  });
});

it(`a tenant has at most ${MAX_WEBHOOKS} webhooks, and a new one fits when another is removed`, async () => {
  const { id } = await addWebhook(acme(), 'https://127.0.0.1:9/orders');
  const before = JSON.parse((await acme().platform('GET', '/webhooks')).text).data.length;
  for (let count = before; count < MAX_WEBHOOKS; count += 1) await addWebhook(acme(), 'https://127.0.0.1:9/orders');
  const add = () => acme().platform('POST', '/webhooks', { body: { url: 'https://127.0.0.1:9/orders' } });
  const refused = await expectRefused(service(), 409, add);
  expectErrorBody(refused);
  expect(refused.text).toContain(`no more than ${MAX_WEBHOOKS} fit`);
  await acme().platform('DELETE', `/webhooks/${id}`);
  expect((await add()).status).toBe(201);
});

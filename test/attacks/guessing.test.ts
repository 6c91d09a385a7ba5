/** Somebody who guesses passwords and secrets from many addresses, and somebody who wants others not to get in. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import {
  GUESSES_OF_ACCOUNT,
  GUESSES_OF_NETWORK,
  GUESSES_OF_PASSWORD,
  GUESSES_OF_SECRET,
  MAX_PASSWORD_HASHES_WAITING_OF_TENANT,
} from '#app/domain/limits.js';
import type { Answer } from '../acceptance/http.js';
import { addPerson, askSession, PASSWORD } from '../acceptance/people.js';
import { expectErrorBody } from '../acceptance/refusals.js';
import { useService } from '../acceptance/useService.js';

const { acme, tenant } = useService({ tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' } });
/** As a proxy tells where a request comes from. */
const from = (address: string) => ({ 'x-forwarded-for': address });

const statuses = (answers: readonly Answer[]): ReadonlyMap<number, number> => {
  const counts = new Map<number, number>();
  for (const { status } of answers) counts.set(status, (counts.get(status) ?? 0) + 1);
  return counts;
};
const guess = (email: string, address: string) => askSession(acme(), email, 'wrong horse battery', from(address));

it('all addresses of an IPv6 /64 are one person; the owner elsewhere gets in meanwhile', async () => {
  const owner = await addPerson(acme(), 'owner', ['validator']);
  const address = (n: number) => `2001:db8:1:2:${n.toString(16)}::${n}`;
  const answers = await Promise.all(
    Array.from({ length: GUESSES_OF_PASSWORD + 4 }, (_, n) => guess(owner.email, address(n + 1))),
  );
  expect(statuses(answers)).toEqual(
    new Map([
      [401, GUESSES_OF_PASSWORD],
      [429, 4],
    ]),
  );
  const refused = await guess(owner.email, address(99));
  expect(refused.status).toBe(429);
  expectErrorBody(refused);
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  expect((await askSession(acme(), owner.email, PASSWORD, from('2001:db8:1:3::1'))).status).toBe(200);
  expect((await askSession(acme(), owner.email, PASSWORD, from('192.0.2.1'))).status).toBe(200);
});

it('secrets: the same, and a client is not locked out in its own network by somebody elsewhere', async () => {
  const client = z
    .looseObject({ client_id: z.string(), client_secret: z.string() })
    .parse(await acme().platformData('POST', '/api-clients', { name: 'ERP' }));
  const ask = (address: string, client_secret = client.client_secret) =>
    acme().requestToken(
      { grant_type: 'client_credentials', client_id: client.client_id, client_secret },
      from(address),
    );
  expect((await ask('203.0.113.7')).status).toBe(200);
  for (let n = 0; n < GUESSES_OF_SECRET; n += 1)
    expect((await ask(`2001:db8:5:6::${n + 1}`, 'wrong')).status).toBe(401);
  expect((await ask('2001:db8:5:6::ffff', 'wrong')).status).toBe(429);
  // From more networks than one account's guesses are free for.
  for (let n = 0; n < GUESSES_OF_ACCOUNT - 10; n += 1) await ask(`198.51.100.${n}`, 'wrong');
  expect((await ask('198.51.100.200', 'wrong')).status).toBe(429);
  expect((await ask('203.0.113.7')).status).toBe(200);
});

it('a network that tries one account after the other is stopped, and another network is not', async () => {
  const clients = Array.from({ length: GUESSES_OF_NETWORK }, (_, n) => `das_nobody_${n}`);
  const ask = (client_id: string, address = '2001:db8:7:8::1') =>
    acme().requestToken({ grant_type: 'client_credentials', client_id, client_secret: 'wrong' }, from(address));
  for (const client of clients) expect((await ask(client)).status).toBe(401);
  // A busy machine may take so long that another guess is free meanwhile.
  for (let n = 0; (await ask(`das_somebody_${n}`)).status !== 429; n += 1) expect(n).toBeLessThan(10);
  expect((await ask('das_somebody', '2001:db8:7:9::1')).status).toBe(401);
});

it('sign-ins at once wait for each other, beyond a limit they are 429, and another tenant has its turn', async () => {
  let refusedFirst = 0;
  let checkedFirst = 0;
  let isAnswered = false;
  const flood = Array.from({ length: 60 }, async (_, n) => {
    const answer = await guess(`nobody${n}@example.com`, `203.0.113.${n}`);
    if (!isAnswered && answer.status === 429) refusedFirst += 1;
    if (!isAnswered && answer.status === 401) checkedFirst += 1;
    return answer;
  });
  // Some are refused at once: the waiting list of the tenant is full.
  while (refusedFirst === 0) await nextTurn();
  const other = tenant('other');
  expect((await askSession(other, other.admin.email, other.admin.password, from('192.0.2.9'))).status).toBe(200);
  isAnswered = true;
  expect(checkedFirst).toBeLessThan(20);
  const answers = await Promise.all(flood);
  const counts = statuses(answers);
  // 2 at once and those that may wait; more where some ended while others came.
  expect(counts.get(401)).toBeGreaterThanOrEqual(2 + MAX_PASSWORD_HASHES_WAITING_OF_TENANT);
  expect((counts.get(401) ?? 0) + (counts.get(429) ?? 0)).toBe(60);
  for (const refused of answers.filter(({ status }) => status === 429)) {
    expectErrorBody(refused);
    expect(refused.headers['retry-after']).toBe('1');
  }
});

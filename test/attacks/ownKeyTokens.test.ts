/**
 * Tokens signed with the service's own key, as an attacker never has it, and false in one respect only (spec §5.4, §5.5).
 */
import { setTimeout as wait } from 'node:timers/promises';
import jwt from 'jsonwebtoken';
import { expectRefused } from '../acceptance/refusals.js';
import { useService } from '../acceptance/useService.js';
import { serviceKey } from './serviceKey.js';

const run = useService({ tenants: { acme: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');

type Changes = { readonly [name: string]: unknown };

/** A good token with some claims and header fields changed; `undefined` takes a claim away. */
async function signed(changes: Changes, header: Changes = {}): Promise<string> {
  const good = jwt.decode(await acme().token(), { complete: true });
  const all = Object.entries({ ...Object(good?.payload), ...changes });
  return jwt.sign(
    Object.fromEntries(all.filter(([, value]) => value !== undefined)),
    await serviceKey(run.service.dataDir),
    {
      algorithm: 'ES256',
      header: { alg: 'ES256', typ: 'at+jwt', kid: good?.header.kid, ...header },
      noTimestamp: true,
    },
  );
}

const now = () => Math.floor(Date.now() / 1000);

it.each<[string, () => Promise<string>]>([
  ['a kid that is a path', () => signed({}, { kid: '../../../../dev/null' })],
  ['a time that is over (§5.5)', () => signed({ iat: now() - 3700, exp: now() - 100 })],
  ['no time at all', () => signed({ exp: undefined })],
  ['another audience', () => signed({ aud: 'https://elsewhere.example/api' })],
  ['another issuer', () => signed({ iss: 'https://elsewhere.example' })],
  ['a client that does not exist', () => signed({ client_id: 'nobody', sub: 'nobody' })],
])('§5: a token with %s is 401 on a read and on a write', async (_what, make) => {
  const token = await make();
  const read = await expectRefused(run.service, 401, () => acme().getList('dyn_item', '', { token }));
  expect(read.headers['www-authenticate']).toMatch(/^Bearer .*error="invalid_token"/);
  await expectRefused(run.service, 401, () =>
    acme().postRecord('dyn_item', { external_id: 'X', name: 'X' }, { token }),
  );
});

it('§5.5: a token that worked is 401 once its time is over, and a new one works', async () => {
  const token = await signed({ exp: now() + 2 });
  expect((await acme().getList('dyn_item', '', { token })).status).toBe(200);
  await wait(2_100);
  const answer = await expectRefused(run.service, 401, () => acme().getList('dyn_item', '', { token }));
  expect(answer.headers['www-authenticate']).toContain('error="invalid_token"');
  expect((await acme().getList('dyn_item')).status).toBe(200);
});

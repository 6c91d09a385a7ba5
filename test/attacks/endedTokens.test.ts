/** Tokens that somebody kept: they end with the secret, the client, the session or the user that they were made for (spec §5). */
import jwt from 'jsonwebtoken';
import { z } from 'zod';
import { addPerson, askSession, dataOf, PASSWORD, type Person } from '../acceptance/people.js';
import { expectRefused } from '../acceptance/refusals.js';
import { PLATFORM } from '../acceptance/tenant.js';
import { useService } from '../acceptance/useService.js';
import { serviceKey } from './serviceKey.js';

const run = useService({ tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');

const credentials = z.looseObject({ client_id: z.string(), client_secret: z.string() });
type Credentials = z.output<typeof credentials>;

const newClient = async (): Promise<Credentials> =>
  credentials.parse(await acme().platformData('POST', '/api-clients', { name: 'ERP' }));
async function tokenOf({ client_id, client_secret }: Credentials): Promise<string> {
  const answer = await acme().requestToken({ grant_type: 'client_credentials', client_id, client_secret });
  return z.looseObject({ access_token: z.string() }).parse(answer.body).access_token;
}
const list = (token: string) => acme().getList('dyn_item', '', { token });
const signOut = (headers: { readonly [name: string]: string }) =>
  acme().send('DELETE', `${PLATFORM}/session`, { token: null, headers });
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe("a client's token", () => {
  it('ends when the secret is regenerated, also one that was used before; a new token is good', async () => {
    const client = await newClient();
    const [used, unused] = [await tokenOf(client), await tokenOf(client)];
    expect((await list(used)).status).toBe(200);
    const renewed = credentials.parse(await acme().platformData('POST', `/api-clients/${client.client_id}/secret`, {}));
    for (const token of [used, unused]) {
      const answer = await expectRefused(run.service, 401, () => list(token));
      expect(answer.headers['www-authenticate']).toContain('error="invalid_token"');
    }
    expect((await list(await tokenOf(renewed))).status).toBe(200);
    await run.service.restart('kill');
    await expectRefused(run.service, 401, () => list(used));
  });

  it('ends with the secret that it was given for, when a rotation ends; while it lasts, both are good', async () => {
    const secret = (path: string) => `/api-clients/${old.client_id}/secret/${path}`;
    const old = await newClient();
    const first = await tokenOf(old);
    const staged = credentials.parse(await acme().platformData('POST', secret('rotate'), {}));
    await expectRefused(run.service, 409, () => acme().platform('POST', secret('rotate'), { body: {} }));
    const second = await tokenOf(staged);
    for (const token of [first, await tokenOf(old), second]) expect((await list(token)).status).toBe(200);
    const shown = await acme().platformData('POST', secret('promote'), {});
    expect(shown).toMatchObject({ client_id: old.client_id, rotation: null });
    await expectRefused(run.service, 401, () => list(first));
    expect((await list(second)).status).toBe(200);
    await expectRefused(run.service, 409, () => acme().platform('POST', secret('promote'), { body: {} }));
    const taken = credentials.parse(await acme().platformData('POST', secret('rotate'), {}));
    const third = await tokenOf(taken);
    expect((await acme().platform('DELETE', secret('staged'))).status).toBe(204);
    await expectRefused(run.service, 401, () => list(third));
    expect((await list(second)).status).toBe(200);
  });

  it('ends with the client, also after a restart', async () => {
    const client = await newClient();
    const token = await tokenOf(client);
    expect((await list(token)).status).toBe(200);
    expect((await acme().platform('DELETE', `/api-clients/${client.client_id}`)).status).toBe(204);
    await expectRefused(run.service, 401, () => list(token));
    await run.service.restart();
    await expectRefused(run.service, 401, () => list(token));
  });

  it('of the release that did not tie tokens to secrets is good until its time is over', async () => {
    const good = jwt.decode(await acme().token(), { complete: true });
    const { credential, ...claims } = z.looseObject({ credential: z.string() }).parse(good?.payload);
    const header = { alg: 'ES256' as const, typ: 'at+jwt', kid: String(good?.header.kid) };
    const key = await serviceKey(run.service.dataDir);
    const token = jwt.sign(claims, key, { algorithm: 'ES256', header, noTimestamp: true });
    expect((await list(token)).status).toBe(200);
  });
});

describe("a session's token", () => {
  const me = (token: string) => acme().platform('GET', '/session', { token });
  let person: Person;
  const another = async (): Promise<string> =>
    dataOf(z.looseObject({ token: z.string() }), await askSession(acme(), person.email, PASSWORD)).token;
  beforeAll(async () => {
    person = await addPerson(acme(), 'anna', ['admin']);
  });

  it.each([
    ['bearer token', bearer],
    ['cookie', (token: string) => ({ cookie: `da_session=${token}` })],
  ])('ends with the sign-out by %s, for good; other sessions go on', async (_how, headers) => {
    const [signedOut, kept] = [await another(), await another()];
    expect((await signOut(headers(signedOut))).status).toBe(204);
    await expectRefused(run.service, 401, () => me(signedOut));
    await expectRefused(run.service, 401, () =>
      acme().send('GET', `${PLATFORM}/session`, { token: null, headers: { cookie: `da_session=${signedOut}` } }),
    );
    expect((await me(kept)).status).toBe(200);
    await run.service.restart('kill');
    await expectRefused(run.service, 401, () => me(signedOut));
    expect((await me(kept)).status).toBe(200);
  });

  it('is ended once: signing out again, or with a token that is not good, stores nothing', async () => {
    const token = await another();
    expect((await signOut(bearer(token))).status).toBe(204);
    const foreign = await run.tenant('other').signIn();
    const before = await run.service.logHead();
    for (const each of [token, 'nonsense', `${token.slice(0, -6)}AAAAAA`, foreign, await acme().token()])
      expect((await signOut(bearer(each))).status).toBe(204);
    expect((await signOut({})).status).toBe(204);
    expect(await run.service.logHead()).toBe(before);
    expect((await run.tenant('other').platform('GET', '/session', { token: foreign })).status).toBe(200);
  });

  it('ends with a new password and with the user, also after a restart', async () => {
    const leaver = await addPerson(acme(), 'leaver', ['validator']);
    const mover = await addPerson(acme(), 'mover', ['validator']);
    expect((await person.call('PUT', `/users/${mover.id}`, { password: 'another long password' })).status).toBe(200);
    expect((await person.call('DELETE', `/users/${leaver.id}`)).status).toBe(204);
    for (const { token } of [leaver, mover]) await expectRefused(run.service, 401, () => me(token));
    await run.service.restart();
    for (const { token } of [leaver, mover]) await expectRefused(run.service, 401, () => me(token));
  });
});

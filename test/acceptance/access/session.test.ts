/** People sign in with e-mail address and password, and use the platform with a token or a cookie. */
import { z } from 'zod';
import { MAX_SESSIONS } from '#app/domain/limits.js';
import { sessionStream } from '#app/domain/streams.js';
import type { Answer } from '../http.js';
import { appendByHand, logOf } from '../logEvent.js';
import { addPerson, askSession, dataOf, PASSWORD, type Person } from '../people.js';
import { expectInvalid, expectRefused } from '../refusals.js';
import { PLATFORM, type RequestOptions } from '../tenant.js';
import { useService } from '../useService.js';

const { acme, service, tenant } = useService({ tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' } });
let admin: Person;
beforeAll(async () => {
  admin = await addPerson(acme(), 'anna', ['admin']);
});

/** The attributes of the session cookie that an answer sets, by lower-case name. */
const cookieOf = ({ headers }: Answer): ReadonlyMap<string, string> => {
  const pairs = (headers['set-cookie']?.[0] ?? '').split(';').map((pair) => pair.trim().split('='));
  return new Map(pairs.map(([name = '', value = '']) => [name.toLowerCase(), value]));
};
const session = (options: RequestOptions = {}) =>
  acme().send('GET', `${PLATFORM}/session`, { token: null, ...options });
const ownCookie = () => ({ cookie: `theme=dark; da_session=${admin.token}` });
const EIGHT_HOURS = 8 * 3600;

describe('signing in', () => {
  it('answers with a token for 8 hours and the user, and sets the cookie', async () => {
    const answer = await askSession(acme(), 'Anna@Example.com', PASSWORD);
    const user = {
      id: admin.id,
      first_name: 'anna',
      last_name: 'Bos',
      locale: 'en',
      email: 'anna@example.com',
      roles: ['admin'],
      must_change_password: false,
      first_password_ends_at: null,
    };
    expect(answer).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    expect(answer.body).toEqual({
      data: { token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/), expires_in: EIGHT_HOURS, user },
    });
    const { token } = dataOf(z.looseObject({ token: z.string() }), answer);
    const cookie = cookieOf(answer);
    expect(cookie.get('da_session')).toBe(token);
    expect(cookie.get('path')).toBe('/');
    expect(cookie.get('samesite')).toBe('Strict');
    expect(cookie.get('max-age')).toBe(String(EIGHT_HOURS));
    expect(cookie.has('httponly')).toBe(true);
    expect(cookie.has('secure')).toBe(false);
    expect(cookie.has('domain')).toBe(false);
    expect((await session({ token })).body).toEqual({ data: user });
  });

  it('behind a trusted proxy that was reached by https the cookie is Secure', async () => {
    const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.1' };
    const answer = await askSession(acme(), admin.email, PASSWORD, headers);
    expect(cookieOf(answer).has('secure')).toBe(true);
  });

  it.each([
    ['a wrong password', 'anna@example.com', 'wrong horse battery'],
    ['an unknown address', 'nobody@example.com', PASSWORD],
  ])('%s is 401 with the same body', async (_what, email, password) => {
    const answer = await expectRefused(service(), 401, () => askSession(acme(), email, password));
    expect(answer.body).toEqual({ message: 'Unauthenticated.', error: 'The e-mail address or the password is wrong.' });
    expect(answer.headers['set-cookie']).toBeUndefined();
  });
});

describe('a session ends', () => {
  it('with the sign-out, for the cookie', async () => {
    const answer = await acme().send('DELETE', `${PLATFORM}/session`, { token: null });
    expect(answer.status).toBe(204);
    const cookie = cookieOf(answer);
    expect(cookie.get('da_session')).toBe('');
    expect(Date.parse(cookie.get('expires') ?? '')).toBeLessThan(Date.now());
  });
});

const seen = z.array(z.looseObject({ id: z.string(), current: z.boolean() }));
const sessionsOf = async (token: string) => dataOf(seen, await acme().platform('GET', '/sessions', { token }));

describe('where a person is signed in', () => {
  const signIn = async ({ email }: Person, agent: string): Promise<string> => {
    const answer = await askSession(acme(), email, PASSWORD, { 'user-agent': agent });
    return dataOf(z.looseObject({ token: z.string() }), answer).token;
  };
  const status = async (token: string) => (await session({ token })).status;
  const end = (token: string, path: string) => acme().platform('DELETE', `/sessions${path}`, { token });

  it('is shown to them; they end one session, or all others, and nobody ends those of another', async () => {
    const lena = await addPerson(acme(), 'lena', ['auditor']);
    const laptop = await signIn(lena, 'laptop '.repeat(50));
    const phone = await signIn(lena, 'phone');
    const all = await sessionsOf(phone);
    const since = { id: expect.any(String), opened_at: expect.any(String), expires_at: expect.any(String) };
    const shown = (user_agent: string, current = false) => {
      return { ...since, network: expect.stringMatching(/^[\d.]+$/), user_agent, current };
    };
    expect(all).toEqual([shown('phone', true), shown('laptop '.repeat(50).slice(0, 255)), shown('')]);
    const ofLaptop = `/${all[1]?.id}`;
    await expectRefused(service(), 404, () => end(admin.token, ofLaptop));
    expect((await end(phone, ofLaptop)).status).toBe(204);
    expect(await Promise.all([phone, laptop, lena.token].map(status))).toEqual([200, 401, 200]);
    await expectRefused(service(), 404, () => end(phone, ofLaptop));
    expect((await end(phone, '')).status).toBe(204);
    expect(await Promise.all([phone, laptop, lena.token].map(status))).toEqual([200, 401, 401]);
    expect(await sessionsOf(phone)).toEqual([shown('phone', true)]);
    expect(await status(admin.token)).toBe(200);
  });

  it(`is at most ${MAX_SESSIONS} times: the oldest session ends`, async () => {
    const { id: userId, ...rest } = await addPerson(acme(), 'mila', ['auditor']);
    const of = { userId, expiresAt: new Date(Date.now() + 3_600_000).toISOString(), network: '', userAgent: '' };
    const others = Array.from({ length: MAX_SESSIONS - 1 }, (_, n) => ({ ...of, sessionId: `s${n}` }));
    await appendByHand(logOf(service()), sessionStream(acme().name, 's'), 'SignedIn', ...others);
    expect(await sessionsOf(rest.token)).toHaveLength(MAX_SESSIONS);
    const newest = await signIn({ id: userId, ...rest }, 'newest');
    expect(await sessionsOf(newest)).toHaveLength(MAX_SESSIONS);
    expect(await status(rest.token)).toBe(401);
  });
});

describe('a password', () => {
  const NEW = 'another long password';
  const withToken = z.looseObject({ token: z.string(), user: z.looseObject({ must_change_password: z.boolean() }) });
  const change = (token: string, old_password: string, new_password: string) =>
    acme().platform('POST', '/session/password', { token, body: { old_password, new_password } });
  const sees = async (token: string): Promise<number> => (await acme().platform('GET', '/orders', { token })).status;

  it('is changed by the person, who is asked for the old one; all other sessions end', async () => {
    const pam = await addPerson(acme(), 'pam', ['validator']);
    const elsewhere = await acme().signIn({ email: pam.email, password: PASSWORD });
    await expectInvalid(service(), ['old_password'], () => change(pam.token, NEW, NEW));
    await expectInvalid(service(), ['new_password'], () => change(pam.token, PASSWORD, 'short'));
    await expectInvalid(service(), ['new_password'], () => change(pam.token, PASSWORD, PASSWORD));
    for (const common of [
      'P@ssw0rd1234',
      '123456789012',
      'Qwertyuiop1!',
      'welkomwelkom',
      '1q2w3e4r5t6y',
      'aaaaaaaabbbb',
    ])
      await expectInvalid(service(), ['new_password'], () => change(pam.token, PASSWORD, common));
    expect(await sees(elsewhere)).toBe(200);
    const answer = await change(pam.token, PASSWORD, NEW);
    expect(answer.status).toBe(200);
    const { token } = dataOf(withToken, answer);
    expect(cookieOf(answer).get('da_session')).toBe(token);
    expect(await Promise.all([token, pam.token, elsewhere].map(sees))).toEqual([200, 401, 401]);
    expect(await sessionsOf(token)).toMatchObject([{ current: true }]);
    expect((await askSession(acme(), pam.email, PASSWORD)).status).toBe(401);
    expect((await askSession(acme(), pam.email, NEW)).status).toBe(200);
  });

  it('that an admin knows is for one sign-in: nothing works before it is changed', async () => {
    const email = 'nina@example.com';
    const added = await admin.call('POST', '/users', { email, first_name: 'N', last_name: 'B', roles: ['admin'] });
    expect(added).toMatchObject({ status: 201, body: { data: { must_change_password: true } } });
    const { id, password } = dataOf(z.looseObject({ id: z.int(), password: z.string() }), added);
    const first = dataOf(withToken, await askSession(acme(), email, password));
    expect(first.user.must_change_password).toBe(true);
    for (const path of ['/orders', '/users', '/nothing']) {
      const { body } = await expectRefused(service(), 403, () => acme().platform('GET', path, { token: first.token }));
      expect(body).toMatchObject({ error: expect.stringContaining('POST /api/v1/platform/session/password') });
    }
    expect((await session({ token: first.token })).status).toBe(200);
    const second = dataOf(withToken, await change(first.token, password, NEW));
    expect(second.user.must_change_password).toBe(false);
    expect(await sees(second.token)).toBe(200);

    // Forgotten: the same again.
    await expectRefused(service(), 404, () => admin.call('POST', '/users/999999/password'));
    const reset = await admin.call('POST', `/users/${id}/password`);
    expect(await sees(second.token)).toBe(401);
    const { password: next } = dataOf(z.looseObject({ password: z.string() }), reset);
    expect((await askSession(acme(), email, NEW)).status).toBe(401);
    const third = dataOf(withToken, await askSession(acme(), email, next));
    expect([third.user.must_change_password, await sees(third.token)]).toEqual([true, 403]);
  });
});

describe('the cookie', () => {
  const put = (headers: { readonly [name: string]: string }) =>
    acme().send('PUT', `${PLATFORM}/users/${admin.id}`, {
      token: null,
      body: { locale: 'nl' },
      headers: { ...ownCookie(), ...headers },
    });

  it('stands for the token', async () => {
    expect((await session({ headers: ownCookie() })).status).toBe(200);
    expect((await put({})).status).toBe(200);
    expect((await put({ origin: `http://${acme().host}` })).status).toBe(200);
  });

  it('is refused from another origin', async () => {
    for (const origin of ['http://evil.example', 'null', `http://${tenant('other').host}`])
      await expectRefused(service(), 403, () => put({ origin }));
  });

  it('changes nothing without Content-Type: application/json, also where there is no body', async () => {
    await expectRefused(service(), 415, () => put({ 'content-type': 'text/plain' }));
    const remove = (headers: { readonly [name: string]: string } = {}) =>
      acme().send('DELETE', `${PLATFORM}/users/99`, { token: null, headers: { ...ownCookie(), ...headers } });
    await expectRefused(service(), 415, () => remove());
    await expectRefused(service(), 404, () => remove({ 'content-type': 'application/json' }));
  });
});

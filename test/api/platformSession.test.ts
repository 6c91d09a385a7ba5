import { dyn, startTestApi, type TestApi } from './harness.js';
import { addPerson, PASSWORD, type Person, PLATFORM, signIn } from './people.js';

let api: TestApi;
let admin: Person;

beforeAll(async () => {
  api = await startTestApi();
  await api.addTenant('acme');
  await api.addTenant('other');
  admin = await addPerson(api, 'acme', 'anna', ['admin']);
});

afterAll(() => api.stop());

/** The attributes of the session cookie that an answer sets, by lower-case name. */
const cookieOf = (header: unknown): ReadonlyMap<string, string> => {
  const [cookie] = Array.isArray(header) ? header : [];
  const pairs = String(cookie)
    .split(';')
    .map((pair) => pair.trim().split('='));
  return new Map(pairs.map(([name = '', value = '']) => [name.toLowerCase(), value]));
};

const session = (call: object = {}) => api.call('GET', `${PLATFORM}/session`, call);

describe('signing in', () => {
  test('answers with a token for 8 hours and the user, and sets the cookie', async () => {
    const answer = await signIn(api, 'Anna@Example.com', PASSWORD);
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      data: {
        token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
        expires_in: 8 * 3600,
        user: {
          id: admin.id,
          first_name: 'anna',
          last_name: 'Bos',
          locale: 'en',
          email: 'anna@example.com',
          roles: ['admin'],
        },
      },
    });
    expect(answer.headers['cache-control']).toBe('no-store');
    const cookie = cookieOf(answer.headers['set-cookie']);
    expect(cookie.get('da_session')).toBe(answer.json.data.token);
    expect(cookie.get('path')).toBe('/');
    expect(cookie.get('samesite')).toBe('Strict');
    expect(cookie.get('max-age')).toBe(String(8 * 3600));
    expect(cookie.has('httponly')).toBe(true);
    expect(cookie.has('secure')).toBe(false);
    expect(cookie.has('domain')).toBe(false);
    expect((await session({ token: answer.json.data.token })).json).toEqual({ data: answer.json.data.user });
  });

  test.each([
    ['a wrong password', 'anna@example.com', 'wrong horse battery'],
    ['an unknown address', 'nobody@example.com', PASSWORD],
  ])('%s is 401 with the same body', async (_case, email, password) => {
    const answer = await signIn(api, email, password);
    expect(answer.status).toBe(401);
    expect(answer.json).toEqual({
      message: 'Unauthenticated.',
      error: 'The e-mail address or the password is wrong.',
    });
    expect(answer.headers['set-cookie']).toBeUndefined();
  });

  test("a user of another tenant cannot sign in here, and the token of one tenant is 401 on another's host", async () => {
    expect((await signIn(api, 'anna@example.com', PASSWORD, { host: 'other.localhost' })).status).toBe(401);
    expect((await session({ token: admin.token, host: 'other.localhost' })).status).toBe(401);
  });

  test('bodies that are none are refused by field', async () => {
    const answer = await api.call('POST', `${PLATFORM}/session`, { body: { email: 7, remember: true } });
    expect(answer.status).toBe(422);
    expect(Object.keys(answer.json.errors).sort()).toEqual(['email', 'password', 'remember']);
  });

  test('after 10 failures for an address it is 429 with Retry-After, also with the right password', async () => {
    const vera = await addPerson(api, 'acme', 'vera', ['validator']);
    const failures = await Promise.all(Array.from({ length: 12 }, () => signIn(api, vera.email, 'wrong password')));
    expect(failures.filter(({ status }) => status === 401)).toHaveLength(10);
    const refused = await signIn(api, vera.email, PASSWORD);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(15 * 60);
    expect((await signIn(api, 'anna@example.com', PASSWORD)).status).toBe(200);
  });
});

describe('behind a proxy', () => {
  test('the cookie is Secure where the request came by https', async () => {
    const proxied = await startTestApi({ TRUST_PROXY: '1' });
    try {
      await proxied.addTenant('acme');
      await addPerson(proxied, 'acme', 'anna', ['admin']);
      const headers = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '192.0.2.1' };
      const answer = await signIn(proxied, 'anna@example.com', PASSWORD, { headers });
      expect(cookieOf(answer.headers['set-cookie']).has('secure')).toBe(true);
    } finally {
      await proxied.stop();
    }
  });
});

describe('a session ends', () => {
  test('with the sign-out, for the cookie', async () => {
    const answer = await api.call('DELETE', `${PLATFORM}/session`);
    expect(answer.status).toBe(204);
    const cookie = cookieOf(answer.headers['set-cookie']);
    expect(cookie.get('da_session')).toBe('');
    expect(Date.parse(cookie.get('expires') ?? '')).toBeLessThan(Date.now());
  });

  test('with the user', async () => {
    const leaver = await addPerson(api, 'acme', 'leaver', ['admin']);
    expect((await leaver.call('GET', '/users')).status).toBe(200);
    expect((await admin.call('DELETE', `/users/${leaver.id}`)).status).toBe(204);
    expect((await leaver.call('GET', '/users')).status).toBe(401);
  });

  test('with a new password; new roles count at once', async () => {
    const mover = await addPerson(api, 'acme', 'mover', ['admin']);
    expect((await admin.call('PUT', `/users/${mover.id}`, { roles: ['auditor'] })).status).toBe(200);
    expect((await mover.call('GET', '/users')).status).toBe(403);
    expect((await mover.call('GET', '/webhooks')).status).toBe(200);
    expect((await admin.call('PUT', `/users/${mover.id}`, { password: 'another long password' })).status).toBe(200);
    expect((await mover.call('GET', '/webhooks')).status).toBe(401);
  });
});

describe('tokens of one kind are no tokens of the other', () => {
  test("an API client's token is 401 on the platform, a user's is 401 on the assets", async () => {
    const client = await api.token('acme', await api.addClient('acme'));
    for (const path of ['/session', '/orders', '/users']) {
      const answer = await api.call('GET', `${PLATFORM}${path}`, { token: client });
      expect(answer.status).toBe(401);
      expect(answer.headers['www-authenticate']).toContain('invalid_token');
    }
    for (const path of ['', '/dyn_party/info', '/dyn_party/assets']) {
      expect((await api.call('GET', dyn(path), { token: admin.token })).status).toBe(401);
      expect((await api.call('GET', dyn(path), { headers: { Cookie: `da_session=${admin.token}` } })).status).toBe(401);
    }
  });

  test.each(['', 'not-a-token', 'a.b.c'])('no token, or %p, is 401', async (token) => {
    const answer = await session(token === '' ? {} : { token });
    expect(answer.status).toBe(401);
    expect(answer.json).toEqual({ message: expect.any(String), error: expect.any(String) });
    expect(answer.headers['www-authenticate']).toContain('Bearer');
  });
});

describe('the cookie', () => {
  const put = (headers: { readonly [name: string]: string }) =>
    api.call('PUT', `${PLATFORM}/users/${admin.id}`, {
      body: { locale: 'nl' },
      headers: { Cookie: `theme=dark; da_session=${admin.token}`, ...headers },
    });

  test('stands for the token', async () => {
    expect((await session({ headers: { Cookie: `da_session=${admin.token}` } })).status).toBe(200);
    expect((await put({})).status).toBe(200);
    expect((await put({ Origin: `http://acme.localhost:${api.port}` })).status).toBe(200);
  });

  test('is refused from another origin', async () => {
    for (const origin of ['http://evil.example', 'null', `http://other.localhost:${api.port}`]) {
      expect((await put({ Origin: origin })).status).toBe(403);
    }
  });

  test('changes nothing without Content-Type: application/json, also where there is no body', async () => {
    const headers = { Cookie: `da_session=${admin.token}` };
    expect((await put({ 'Content-Type': 'text/plain' })).status).toBe(415);
    expect((await api.call('DELETE', `${PLATFORM}/users/99`, { headers })).status).toBe(415);
    const typed = { ...headers, 'Content-Type': 'application/json' };
    expect((await api.call('DELETE', `${PLATFORM}/users/99`, { headers: typed })).status).toBe(404);
  });
});

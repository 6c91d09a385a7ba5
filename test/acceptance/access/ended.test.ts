/** What is over is over at once, for good, and after a crash as well: tokens of secrets, clients, sessions, users and tenants (spec §5). */
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { addWebhook, approvedOrder, quickDelivery } from '../export.js';
import { addPerson, askSession, dataOf, PASSWORD, type Person } from '../people.js';
import { Receiver } from '../receiver.js';
import { expectInvalid, expectRefused } from '../refusals.js';
import { PLATFORM, type RequestOptions } from '../tenant.js';
import { useService } from '../useService.js';

const receiver = Receiver.ofTests();
const { acme, service, tenant } = useService(async () => ({
  tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order', gone: 'dyn_stock_order' },
  env: { ...quickDelivery(receiver), WEBHOOK_BACKOFF_MS: '50,3000' },
}));

const credentials = z.looseObject({ client_id: z.string(), client_secret: z.string() });
type Credentials = z.output<typeof credentials>;
const post = async (path: string) => credentials.parse(await acme().platformData('POST', path, { name: 'ERP' }));
const renew = async (path: string) => credentials.parse(await acme().platformData('POST', path, {}));
async function tokenOf({ client_id, client_secret }: Credentials): Promise<string> {
  const answer = await acme().requestToken({ grant_type: 'client_credentials', client_id, client_secret });
  return z.looseObject({ access_token: z.string() }).parse(answer.body).access_token;
}
const list = (token: string) => acme().getList('dyn_item', '', { token });
const me = (options: RequestOptions) => acme().send('GET', `${PLATFORM}/session`, { token: null, ...options });
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const cookie = (token: string) => ({ cookie: `da_session=${token}` });

/** Checked once more after the crash. */
const endedTokens: string[] = [];
const goodTokens: string[] = [];
const endedSessions: string[] = [];
const goodSessions: string[] = [];

async function expectEnded(...tokens: readonly string[]): Promise<void> {
  for (const token of tokens) {
    const answer = await expectRefused(service(), 401, () => list(token));
    expect(answer.headers['www-authenticate']).toContain('error="invalid_token"');
  }
  endedTokens.push(...tokens);
}

describe("a client's token", () => {
  it('ends when the secret is regenerated, also one that was used before; the old secret gets none, the new one does', async () => {
    const client = await post('/api-clients');
    const [used, unused] = [await tokenOf(client), await tokenOf(client)];
    expect((await list(used)).status).toBe(200);
    const renewed = await renew(`/api-clients/${client.client_id}/secret`);
    await expectEnded(used, unused);
    expect((await acme().requestToken({ grant_type: 'client_credentials', ...client })).status).toBe(401);
    const token = await tokenOf(renewed);
    expect((await list(token)).status).toBe(200);
    goodTokens.push(token);
  });

  it('goes on for a day after a rotation, as the old secret does; the next one ends it', async () => {
    const old = await post('/api-clients');
    const rotate = () => renew(`/api-clients/${old.client_id}/secret/rotate`);
    const first = await tokenOf(old);
    const renewed = await rotate();
    const hoursLeft = (Date.parse(String(renewed.old_secret_ends_at)) - Date.now()) / 3_600_000;
    expect(Math.round(hoursLeft)).toBe(24);
    const second = await tokenOf(renewed);
    for (const token of [first, await tokenOf(old), second]) expect((await list(token)).status).toBe(200);
    const third = await tokenOf(await rotate());
    await expectEnded(first);
    for (const token of [second, third]) expect((await list(token)).status).toBe(200);
    goodTokens.push(second, third);
  });

  it('has a scope while the client has it, too', async () => {
    const client = await post('/api-clients');
    const token = await tokenOf(client);
    const change = (body: object) => acme().platform('PUT', `/api-clients/${client.client_id}`, { body });
    const renamed = await change({ name: 'Till', scopes: ['write:reference_data'] });
    expect(renamed).toMatchObject({ status: 200, body: { data: { name: 'Till', scopes: ['write:reference_data'] } } });
    expect((await list(token)).status).toBe(403);
    await change({ scopes: ['read:audit', 'read:reference_data'] });
    expect((await list(token)).status).toBe(200);
    await expectInvalid(service(), ['scopes.0'], () => change({ scopes: ['all'] }));
    expect((await acme().platform('PUT', '/api-clients/none', { body: {} })).status).toBe(404);
  });

  it('ends with the client', async () => {
    const client = await post('/api-clients');
    const token = await tokenOf(client);
    expect((await list(token)).status).toBe(200);
    expect((await acme().platform('DELETE', `/api-clients/${client.client_id}`)).status).toBe(204);
    await expectEnded(token);
  });
});

describe("a session's token", () => {
  let person: Person;
  const another = async (): Promise<string> =>
    dataOf(z.looseObject({ token: z.string() }), await askSession(acme(), person.email, PASSWORD)).token;
  const signOut = async (headers: { readonly [name: string]: string }) =>
    (await acme().send('DELETE', `${PLATFORM}/session`, { token: null, headers })).status;
  const expectOver = async (token: string) => {
    await expectRefused(service(), 401, () => me({ token }));
    await expectRefused(service(), 401, () => me({ headers: cookie(token) }));
    endedSessions.push(token);
  };
  beforeAll(async () => {
    person = await addPerson(acme(), 'anna', ['admin']);
    goodSessions.push(person.token);
  });

  it.each([
    ['bearer token', bearer],
    ['cookie', cookie],
  ])('ends with the sign-out by %s; other sessions go on', async (_how, headers) => {
    const token = await another();
    expect(await signOut(headers(token))).toBe(204);
    await expectOver(token);
    expect((await me({ token: person.token })).status).toBe(200);
  });

  it('ends with a new password and with the user', async () => {
    const leaver = await addPerson(acme(), 'leaver', ['validator']);
    const mover = await addPerson(acme(), 'mover', ['validator']);
    expect((await person.call('POST', `/users/${mover.id}/password`)).status).toBe(200);
    expect((await person.call('DELETE', `/users/${leaver.id}`)).status).toBe(204);
    for (const { token } of [leaver, mover]) await expectOver(token);
  });
});

describe('a tenant that is deleted', () => {
  const gone = () => tenant('gone');
  const cli = (...args: string[]) => service().cli('tenant', ...args);

  it('ends its tokens, sessions and webhooks at once, and nothing of another', async () => {
    receiver.reply('/gone', () => ({ status: 500 }));
    await addWebhook(gone(), receiver.url('/gone'));
    await addWebhook(acme(), receiver.url('/stays'));
    await approvedOrder(gone());
    await receiver.received('/gone', 2);
    const [token, session] = [await gone().token(), await gone().signIn()];
    const seen = async () => (await gone().platform('GET', '/session', { token: session })).status;

    const wrong = 'Nothing was deleted: that is not the name gone.\n';
    expect(await cli('delete', 'gone', '--confirm', 'acme')).toMatchObject({ code: 2, stderr: wrong });
    expect(await cli('delete', 'gone')).toMatchObject({ code: 2, stderr: expect.stringContaining('--confirm') });
    expect(await seen()).toBe(200);
    const deleted = await cli('delete', 'gone', '--confirm', 'gone', '--json');
    expect(deleted).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(deleted.stdout)).toEqual({ tenant: 'gone', deleted: true });

    while ((await seen()) !== 404) await wait(20);
    expect((await gone().getList('dyn_item', '', { token })).status).toBe(404);
    expect((await gone().requestToken({ grant_type: 'client_credentials', ...gone().client })).status).toBe(404);
    expect((await list(token)).status).toBe(401);
    await approvedOrder(acme());
    await receiver.received('/stays', 1);
  });
});

describe('after a crash', () => {
  /** How many jobs of the tenants wait. */
  async function jobs(state: string): Promise<number> {
    const { text } = await service().send({ method: 'GET', path: '/metrics' });
    const lines = text.split('\n').filter((line) => /^queue_messages\{/.test(line) && line.includes(`"${state}"`));
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  it('all that ended is over, and all else goes on', async () => {
    const token = await tenant('gone').token();
    const calls = receiver.calls('/gone').length;
    await service().restart('kill');
    for (const each of endedTokens) expect((await list(each)).status).toBe(401);
    for (const each of endedSessions) expect((await me({ token: each })).status).toBe(401);
    for (const each of goodTokens) expect((await list(each)).status).toBe(200);
    for (const each of goodSessions) expect((await me({ token: each })).status).toBe(200);
    expect((await tenant('gone').getList('dyn_item', '', { token })).status).toBe(404);
    expect((await acme().list('dyn_stock_order')).meta.total).toBe(1);
    // The job of the tenant that is gone is dropped when it is due.
    while ((await jobs('delayed')) + (await jobs('ready')) + (await jobs('in_work')) > 0) await wait(50);
    expect(receiver.calls('/gone')).toHaveLength(calls);
  });
});

/** The operator's API (decision 0010): a link opens one session, at the operator's host alone; what it shows, and what it does. */
import { readdirSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import jwt from 'jsonwebtoken';
import { z } from 'zod';
import { newId } from '#app/commands/clock.js';
import { OPERATOR_LINK_MINUTES, OPERATOR_SESSION_HOURS } from '#app/domain/limits.js';
import { operatorLinkStream, tableStream } from '#app/domain/streams.js';
import { serviceKey } from '../../attacks/serviceKey.js';
import { scaled } from '../../engines/timeScale.js';
import { isRepetition } from '../../onProductionEngines/repetition.js';
import type { Answer } from '../http.js';
import { appendByHand, logOf } from '../logEvent.js';
import { askAs, enter, newLink, OPERATOR, Operator } from '../operator.js';
import { expectInvalid, expectRefused } from '../refusals.js';
import { createdTenant, type Service, startService } from '../service.js';
import { ASSETS, PLATFORM, TenantClient } from '../tenant.js';

let service: Service;
const acme = () => service.tenant('acme');
let operator: Operator;
beforeAll(async () => {
  service = await startService({
    tenants: { acme: 'dyn_stock_order', hauler: 'dyn_transport_order' },
    env: { BACKUP_DIR: 'backups' },
  });
  await acme().create('dyn_item', { external_id: 'tea', name: 'Tea' });
  operator = await Operator.of(service);
});

afterAll(async () => {
  await service.dispose();
  expect(service.loggedErrors.filter((line) => !line.includes('an event cannot be applied'))).toEqual([]);
});

const at = (host: string, path: string, token?: string): Promise<Answer> => askAs(service, token, ['GET', path], host);

/** A token as the service would sign it, but for these claims; `exp` in seconds from now. */
async function forged(audience: string, claims: object, expiresIn: number, key?: string): Promise<string> {
  const [header = ''] = operator.token.split('.');
  const { kid } = z.object({ kid: z.string() }).parse(JSON.parse(Buffer.from(header, 'base64url').toString()));
  return jwt.sign({ operator: 'eve', ...claims }, key ?? (await serviceKey(service.dataDir)), {
    algorithm: 'ES256',
    header: { alg: 'ES256', typ: 'at+jwt', kid },
    issuer: 'https://localhost',
    audience: `https://localhost/api/v1/${audience}`,
    jwtid: crypto.randomUUID(),
    expiresIn,
  });
}

describe('a link', () => {
  it('is valid for minutes, and the session that it opens for hours', async () => {
    const validity = async (token: string) => {
      const { exp, iat } = z.object({ exp: z.int(), iat: z.int() }).parse(jwt.decode(token));
      return exp - iat;
    };
    expect(await validity(await newLink(service))).toBe(OPERATOR_LINK_MINUTES * 60);
    expect(await validity(operator.token)).toBe(OPERATOR_SESSION_HOURS * 3_600);
  });

  it('opens one session: used again it is 401, also after the service was restarted', async () => {
    const link = await newLink(service);
    expect((await enter(service, link)).status).toBe(201);
    const again = await expectRefused(service, 401, () => enter(service, link));
    expect(again.text).toContain('The link was used before. Make another link: dynamic-assets console.');
    await service.restart();
    await expectRefused(service, 401, () => enter(service, link));
    await service.becomesReady();
    expect((await operator.data('/overview')).ready).toBe(true);
  });

  if (!isRepetition)
    it('expired, of another key, or a token for something else opens nothing', async () => {
      const other = await import('node:crypto').then(({ generateKeyPairSync }) =>
        generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'pem', type: 'pkcs8' }),
      );
      expect((await enter(service, await forged('operator/sessions', {}, 60))).status).toBe(201);
      for (const token of [
        await forged('operator/sessions', {}, -1),
        await forged('operator/sessions', {}, 60, String(other)),
        await forged('operator/sessions', { operator: 1 }, 60),
        await forged('platform', {}, 60),
        operator.token,
        await acme().token(),
        'nonsense',
        'x'.repeat(2_100),
      ])
        await expectRefused(service, 401, () => enter(service, token));
    });
});

describe('the tokens of tenants and of operators', () => {
  it('never stand for each other', async () => {
    const overview = `${OPERATOR}/overview`;
    const link = await newLink(service);
    for (const token of [undefined, await acme().token(), await acme().signIn(acme().admin), link])
      await expectRefused(service, 401, () => askAs(service, token, ['GET', overview]));
    for (const path of [`${ASSETS}/dyn_item/assets`, `${PLATFORM}/orders`, `${PLATFORM}/session`])
      for (const token of [operator.token, link])
        await expectRefused(service, 401, () => at('acme.localhost', path, token));
  });

  it("the operator's routes are 404 at a tenant's host, as paths that do not exist; tenants' are at the operator's", async () => {
    for (const host of ['acme.localhost', 'nobody.localhost', 'localhost', '127.0.0.1'])
      for (const path of ['/overview', '/sessions', '/nowhere', '/jobs']) {
        const answer = await at(host, OPERATOR + path, operator.token);
        expect(answer).toMatchObject({
          status: 404,
          body: { message: 'Not found.', error: `There is nothing at ${OPERATOR}${path}.` },
        });
      }
    for (const path of [`${ASSETS}/dyn_item/assets`, `${PLATFORM}/orders`, '/oauth/token'])
      expect((await at('operator.service.localhost', path, await acme().token())).status).toBe(404);
    const asAcme = { host: `operator.service.localhost:${service.port}`, 'x-tenant': 'acme' };
    expect((await service.send({ method: 'GET', path: `${PLATFORM}/orders`, headers: asAcme })).status).toBe(400);
  });

  it("neither host's document nor console has anything of the other", async () => {
    const paths = (answer: Answer): string[] =>
      Object.keys(z.object({ paths: z.looseObject({}) }).parse(answer.body).paths);
    expect(paths(await at('acme.localhost', '/openapi.json')).filter((path) => path.includes('operator'))).toEqual([]);
    const own = paths(await at('operator.service.localhost', '/openapi.json'));
    expect(own.filter((path) => !path.startsWith(OPERATOR))).toEqual([]);
    expect((await at('operator.service.localhost', '/console')).headers.location).toBe('/console/operator');
    for (const page of ['/console/enter', '/console/operator', '/console/operator/log'])
      expect((await at('acme.localhost', page)).status).toBe(404);
  });
});

describe('what the operator sees', () => {
  it('what needs them, and the tenants by name, part of a name and page', async () => {
    expect(await operator.data('/overview')).toMatchObject({ ready: true, tenants: 2 });
    const troubles = async () => {
      const checks: readonly { readonly check: string; readonly ok: boolean }[] = (await operator.data('/overview'))
        .checks;
      return checks.filter(({ ok }) => !ok).map(({ check }) => check);
    };
    expect(await troubles()).toEqual(['backup']);
    await service.cli('webhook', 'hold');
    expect(await troubles()).toEqual(['webhooks', 'backup']);
    await service.cli('webhook', 'resume');
    const all = await operator.data('/tenants');
    expect(all.map(({ name }: { name: string }) => name)).toEqual(['acme', 'hauler']);
    expect(all[0]).toMatchObject({
      parked: [],
      behind_seconds: 0,
      quotas: { log_bytes: { used: expect.any(Number) } },
    });
    expect(await operator.data('/tenants', { query: 'cursor=acme' })).toMatchObject([{ name: 'hauler' }]);
    expect(await operator.data('/tenants', { query: 'search=ACM' })).toMatchObject([{ name: 'acme' }]);
    const one = await operator.data('/tenants/{tenant}', { at: 'acme' });
    expect(one.quotas.records).toEqual({ used: 1, limit: 10_000_000 });
    await expectRefused(service, 404, () => operator.call('GET', '/tenants/{tenant}', { at: 'nobody' }));
  });
});

it('what this process has seen, minute by minute, also before a restart; a damaged file of that is made again', async () => {
  await acme().signIn(acme().admin);
  const points = await operator.data('/history', { query: 'minutes=1440' });
  const seen = points.find((each: { readonly [figure: string]: number }) => Number(each.stored_per_second) > 0);
  expect(seen).toMatchObject({ errors_per_second: 0, deliveries_waiting: 0, backup_age_seconds: null });
  for (const figure of ['requests_per_second', 'p99_ms', 'disk_free_bytes']) expect(seen[figure]).toBeGreaterThan(0);
  await expectRefused(service, 400, () => operator.call('GET', '/history', { query: 'minutes=5' }));

  const ofHour = () => operator.data('/history');
  await service.restart();
  const [before, gap] = await ofHour();
  expect(before).toMatchObject({ requests_per_second: expect.any(Number), p99_ms: expect.any(Number) });
  expect(gap).toMatchObject({ requests_per_second: null, disk_free_bytes: null });
  await service.stop();
  await writeFile(join(service.dataDir, 'history.json'), '[{');
  await service.start();
  expect((await ofHour()).length).toBeLessThanOrEqual(1);
  expect(service.log).toContain('the charts of the time before cannot be read');
  await service.becomesReady();
});

it('opens a tenant, whose first admin and API client can begin at once; a wrong one changes nothing', async () => {
  const open = (body: object) => operator.call('POST', '/tenants', { body });
  const named = { name: 'newcomer', order_model: 'dyn_stock_order' };
  for (const name of ['', 'No_Host', 'Acme', '-a', 'a-', 'a--b', 'a.b', 'a'.repeat(41)])
    await expectInvalid(service, ['name'], () => open({ ...named, name }));
  await expectInvalid(service, ['order_model'], () => open({ ...named, order_model: 'dyn_item' }));
  await expectInvalid(service, ['admin_email'], () => open({ ...named, admin_email: 'nobody' }));
  await expectRefused(service, 404, () => operator.call('GET', '/tenants/{tenant}', { at: 'newcomer' }));
  const made = await open({ ...named, display_name: 'Newcomer Ltd', admin_email: 'Eva@newcomer.example' });
  expect(made).toMatchObject({ status: 201, body: { data: { admin: { email: 'eva@newcomer.example' } } } });
  const { data } = z.object({ data: z.looseObject({}) }).parse(made.body);
  const newcomer = new TenantClient(service, createdTenant.parse({ tenant: 'newcomer', ...data }), 'dyn_stock_order');
  expect((await newcomer.list('dyn_item')).meta.total).toBe(0);
  expect(await newcomer.platformData('GET', '/session')).toMatchObject({ roles: ['admin', 'validator'] });
  expect(await operator.data('/tenants/{tenant}', { at: 'newcomer' })).toMatchObject({ display_name: 'Newcomer Ltd' });
  await expectRefused(service, 409, () => open(named));
});

it('the log or a stream of it, the latest first, page by page, without secrets', async () => {
  const log = await operator.data('/log');
  const found = log.find(({ type }: { type: string }) => type === 'OperatorSignedIn');
  expect(found).toMatchObject({ stream: expect.stringContaining(operatorLinkStream('')), metadata: { tenant: '' } });
  const items = tableStream('acme', 'dyn_item');
  const [created, ...others] = await operator.data('/log', { query: `stream=${items}` });
  const data = { fields: { name: 'Tea' } };
  expect(created).toMatchObject({ stream: items, revision: 0, type: 'RecordCreated', data });
  expect(others).toEqual([]);
  expect(await operator.data('/log', { query: 'type=RecordCreated' })).toEqual([created]);
  expect(await operator.data('/log', { query: `stream=${items}&type=RecordDeleted` })).toEqual([]);
  await expectRefused(service, 400, () => operator.call('GET', '/log', { query: 'type=Created' }));
  expect(await operator.data('/log', { query: `stream=${items}&cursor=0` })).toEqual([]);
  const before = await operator.data('/log', { query: `cursor=${log[0].position}` });
  expect(before[0].position).toBeLessThan(log[0].position);
  const first = async (stream: string) => (await operator.data('/log', { query: `stream=${stream}&cursor=1` }))[0].data;
  expect(await first('users-acme')).toMatchObject({ passwordHash: 'left out' });
  expect(await first('log-keys')).toMatchObject({ kid: expect.any(String), sealedKey: 'left out' });
  expect(await operator.data('/log', { query: 'stream=users-nobody' })).toEqual([]);
});

describe('work on rows', () => {
  it('verifies and rebuilds all tenants', async () => {
    const { length: tenants } = await operator.data('/tenants');
    for (const [kind, outcome] of Object.entries({ verify: 'equal', rebuild: 'rebuilt' })) {
      const done = await operator.ended(await operator.begin({ kind }));
      // Those that are good are summed up.
      const reports = [expect.objectContaining({ outcome })];
      expect(done).toMatchObject({ error: null, state: 'done', tenants_done: tenants, reports });
    }
    expect((await operator.data('/jobs')).length).toBeGreaterThanOrEqual(2);
    expect((await acme().list('dyn_item')).meta.total).toBe(1);
  });

  it('on the log: a checkpoint is signed, and the log compared with it; each is counted', async () => {
    const [signed, verified] = [{ kind: 'audit_checkpoint' }, { kind: 'audit_verify' }];
    const sign = async () => operator.ended(await operator.begin(signed));
    let done = await sign();
    // The tree over the log is opened some seconds after the start.
    for (; done.error?.includes('does not run now'); done = await sign()) await wait(100);
    expect(done).toMatchObject({ state: 'done', reports: [{ tenant: null, outcome: 'signed' }] });
    expect(await operator.ended(await operator.begin(verified))).toMatchObject({ reports: [{ outcome: 'equal' }] });
    await expectInvalid(service, ['tenant'], () =>
      operator.call('POST', '/jobs', { body: { ...signed, tenant: 'acme' } }),
    );
    const text = await service.metrics();
    expect(text).toContain('operator_jobs{kind="audit_verify",state="done"} 1\n');
    // Only the last one of a kind: a failure is over when a repetition succeeds.
    expect(text).not.toContain('operator_jobs{kind="audit_checkpoint",state="failed"}');
  });

  it('is cancelled while it is at work: within a second it ends, has changed nothing more, and is shown so', async () => {
    const lines = Array.from({ length: 1_000 }, (_, n) => ({ external_id: `h${n}`, notes: 'x'.repeat(2_000) }));
    const named = (name: string) => lines.map((line) => ({ ...line, name }));
    for (let batch = 1; batch <= 12; batch += 1)
      await service.tenant('hauler').batch('dyn_party', named(`Holder of ${batch}`));
    for (const request of [
      { kind: 'verify', tenant: 'hauler' },
      { kind: 'rebuild', tenant: 'hauler' },
      { kind: 'audit_verify' },
      { kind: 'backup' },
      // These take milliseconds: they may be done by then.
      { kind: 'retry', shortly: 'done' },
      { kind: 'audit_checkpoint', shortly: 'done' },
    ]) {
      const { shortly = 'cancelled', ...body } = request;
      const id = await operator.begin(body);
      const at = performance.now();
      const { status } = await operator.call('DELETE', '/jobs/{id}', { at: id });
      const ended = await operator.ended(id);
      expect(performance.now() - at).toBeLessThan(scaled(1_000));
      expect(['202 cancelled', `202 ${shortly}`, `409 ${shortly}`]).toContain(`${status} ${ended.state}`);
      expect(ended).toMatchObject({ ...body, error: null });
      if (ended.state === 'cancelled') expect(ended.reports).toEqual([]);
      await expectRefused(service, 409, () => operator.call('DELETE', '/jobs/{id}', { at: id }));
      expect(await service.metrics()).toContain(`operator_jobs{kind="${body.kind}",state="${ended.state}"} 1\n`);
    }
  });

  it('a backup is made in a directory of its own below BACKUP_DIR, where the cancelled one has left nothing', async () => {
    const done = await operator.ended(await operator.begin({ kind: 'backup' }));
    expect(done).toMatchObject({ state: 'done', error: null });
    const [made = '', ...others] = readdirSync(join(service.dataDir, 'backups'));
    expect(others).toEqual([]);
    expect(Date.now() - statSync(join(service.dataDir, 'backups', made, 'backup.json')).mtimeMs).toBeLessThan(60_000);
    const { checks } = await operator.data('/overview');
    expect(checks).toContainEqual(expect.objectContaining({ check: 'backup', ok: true }));
  });

  it('retries a parked tenant, which is shown with its event and error', async () => {
    const poison = { id: newId(), set: 5 };
    const stream = tableStream('hauler', 'dyn_party');
    const { position } = await appendByHand(logOf(service), stream, 'RecordChanged', poison);
    let { parked } = await operator.data('/overview');
    while (parked.length === 0) {
      await wait(50);
      ({ parked } = await operator.data('/overview'));
    }
    expect(parked[0]).toMatchObject({ tenant: 'hauler', what: 'rows', position, event_type: 'RecordChanged' });
    expect(await operator.data('/tenants', { query: 'search=hauler' })).toMatchObject([{ parked: [{ position }] }]);
    const retried = await operator.ended(await operator.begin({ kind: 'retry', tenant: 'hauler' }));
    expect(retried.reports).toMatchObject([{ outcome: 'retried' }]);
    const rebuilt = await operator.ended(await operator.begin({ kind: 'rebuild', tenant: 'hauler' }));
    expect(rebuilt.reports).toMatchObject([{ outcome: 'failed', error: expect.stringContaining('cannot be applied') }]);
    // The others are written and read meanwhile.
    expect((await acme().list('dyn_item')).meta.total).toBe(1);
  });
});

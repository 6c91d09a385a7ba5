/** The access log: one line for each request, whatever its outcome (docs/operations.md). */
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import type { Answer } from '../http.js';
import { addPerson } from '../people.js';
import type { Service } from '../service.js';
import { ASSETS } from '../tenant.js';
import { useService } from '../useService.js';

const run = useService({
  tenants: { acme: 'dyn_stock_order', slow: 'dyn_stock_order' },
  env: { LOG_LEVEL: 'info' },
});
const acme = () => run.tenant('acme');

const line = z.looseObject({ msg: z.string(), requestId: z.string().optional(), status: z.int().optional() });
type Line = z.output<typeof line>;

const linesOf = (service: Service): readonly Line[] =>
  service.log
    .split('\n')
    .filter((written) => written !== '')
    .map((written) => line.parse(JSON.parse(written)));

/** It is written when the answer is out, which may be after the client has read it. */
async function lineWhere(isIt: (line: Line) => boolean): Promise<Line> {
  for (;;) {
    const found = linesOf(run.service()).filter(isIt);
    if (found.length > 1) throw new Error(`There are ${found.length} lines.`);
    if (found[0] !== undefined) return found[0];
    await wait(5);
  }
}
const lineOf = ({ headers }: Answer): Promise<Line> =>
  lineWhere(({ msg, requestId }) => msg === 'request' && requestId === headers['x-request-id']);

const TABLE = `${ASSETS}/dyn_item/assets`;
const ROUTE = '/api/v1/dynamic-assets/dyn/:table/assets';

describe('a request', () => {
  it('of a client is told with tenant, client, route, path without the query, status, time and bytes', async () => {
    const { id } = await acme().create('dyn_item', { external_id: 'A-1', name: 'Tea' });
    const one = await acme().getRecord('dyn_item', id);
    expect(await lineOf(one)).toMatchObject({
      tenant: 'acme',
      client: { id: acme().client.client_id, name: expect.stringMatching(/./) },
      method: 'GET',
      route: `${ROUTE}/:id`,
      path: `${TABLE}/${id}`,
      status: 200,
      ms: expect.any(Number),
      bytes: Buffer.byteLength(one.text),
    });
    const list = await acme().send('GET', TABLE, { query: 'filter[name]=Secret-Person' });
    expect(await lineOf(list)).toMatchObject({ route: ROUTE, path: TABLE, status: 200 });
    expect(run.service().log).not.toContain('Secret-Person');
  });

  it('of a person is told with their id and name, their sign-in as well', async () => {
    const vera = await addPerson(acme(), 'vera', ['validator']);
    const person = { tenant: 'acme', user: { id: String(vera.id), name: 'vera Bos' } };
    expect(await lineOf(await vera.call('GET', '/orders'))).toMatchObject({ ...person, status: 200 });
    const route = '/api/v1/platform/session';
    await lineWhere(
      ({ route: its, user, method }) => its === route && method === 'POST' && String(Object(user).name) === 'vera Bos',
    );
    expect(run.service().log).not.toContain(vera.token);
  });
});

describe('what is refused is told', () => {
  it.each<[number, string, () => Promise<Answer>, object]>([
    [401, 'without a token', () => acme().send('GET', TABLE, { token: null }), { tenant: 'acme' }],
    [
      401,
      'a wrong secret',
      () =>
        acme().send('POST', '/oauth/token', {
          token: null,
          body: { grant_type: 'client_credentials', client_id: 'x', client_secret: 'y' },
        }),
      { tenant: 'acme', route: '/oauth/token' },
    ],
    [404, 'an unknown path', () => acme().send('GET', '/nothing/here'), { route: 'unmatched', path: '/nothing/here' }],
    [422, 'a wrong record', () => acme().postRecord('dyn_item', { name: 7 }), { client: expect.anything() }],
  ])('%s, %s', async (status, _what, send, expected) => {
    const answer = await send();
    expect(answer.status).toBe(status);
    expect(await lineOf(answer)).toMatchObject({ status, ...expected });
  });

  it('499, a client that went away before its answer', async () => {
    const socket = connect(run.service().port, '127.0.0.1');
    const fields = [`Authorization: Bearer ${await acme().token()}`, 'Content-Type: application/json'];
    const head = [`POST ${TABLE} HTTP/1.1`, 'Host: acme.localhost', ...fields, 'Content-Length: 100'];
    socket.write(`${head.join('\r\n')}\r\nExpect: 100-continue\r\n\r\n`);
    // The service has asked for the body: the request is in work.
    await once(socket, 'data');
    socket.destroy();
    const told = await lineWhere(({ status }) => status === 499);
    expect(told).toMatchObject({ method: 'POST', tenant: 'acme', route: ROUTE });
  });
});

it('whatever a path holds, a request is one line of JSON, and a short one', async () => {
  const paths = [
    '/%0a{"level":60,"msg":"forged"}',
    `/"},{"msg":"forged"`,
    '/\x7f\xe2\x80\xa8forged',
    `/${'forged'.repeat(2_000)}`,
  ];
  for (const path of paths) {
    const socket = connect(run.service().port, '127.0.0.1');
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: acme.localhost\r\nX-Request-Id: a"}\r\nConnection: close\r\n\r\n`,
      'latin1',
    );
    await text(socket);
  }
  await lineWhere(({ path }) => String(path).startsWith('/forgedforged'));
  for (const written of linesOf(run.service()))
    expect(written).toMatchObject({ level: expect.any(Number), msg: expect.not.stringContaining('forged') });
  for (const written of run.service().log.split('\n')) expect(written.length).toBeLessThan(2_500);
});

it('health checks and metrics have a line where they are refused, and otherwise at level debug alone', async () => {
  const ask = (path: string, headers = {}) => run.service().send({ method: 'GET', path, headers });
  for (const path of ['/health/live', '/health/ready', '/metrics']) expect((await ask(path)).status).toBe(200);
  const refused = await ask('/metrics', { 'x-forwarded-for': '192.0.2.1' });
  expect(await lineOf(refused)).toMatchObject({ status: 403, route: '/metrics' });
  const probes = linesOf(run.service()).filter(({ path }) => /^\/(health|metrics)/.test(String(path)));
  expect(probes.map(({ status }) => status)).toEqual([403]);
});

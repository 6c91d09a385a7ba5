/** Errors: the right status, the body of spec §7, JSON always, nothing stored. */
import { gzipSync } from 'node:zlib';
import { expectErrorBody, expectRefused } from '../refusals.js';
import { ASSETS, PLATFORM } from '../tenant.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');
const ID = '01a1feb1-9a64-76fa-95fa-131ef9230738';
const ITEMS = `${ASSETS}/dyn_item/assets`;
const ITEM = JSON.stringify({ external_id: 'E1', name: 'Tea' });

describe('404', () => {
  it.each([
    '/api',
    '/api/v1',
    '/api/v1/dynamic-assets',
    `${ASSETS}/dyn_item`,
    `${ASSETS}/dyn_item/`,
    `${ASSETS}/dyn_item/asset`,
    `${ITEMS}/${ID}/unknown`,
    `${ITEMS}/${ID}/history/1`,
    `${ASSETS.toUpperCase()}/dyn_item/assets`,
    `${ASSETS}/dyn_item/ASSETS`,
    '/favicon.ico',
    '/index.html',
    '/../../etc/passwd',
    `${ASSETS}/../../../../etc/passwd`,
    `${ASSETS}/..%2f..%2fetc%2fpasswd`,
    '//',
    '/%00',
  ])('§7: nothing at %s', async (path) => {
    await expectRefused(run.service, 404, () => acme().send('GET', path));
  });

  it('§7: nothing under the platform’s path but what there is', async () => {
    await expectRefused(run.service, 404, () => acme().platform('GET', '/unknown'));
    await expectRefused(run.service, 404, () => acme().platform('GET', `/orders/${ID}`));
    await expectRefused(run.service, 404, () => acme().platform('GET', '/orders/1'));
  });
});

describe('405', () => {
  const paths: readonly (readonly [string, readonly string[]])[] = [
    [ASSETS, ['GET', 'HEAD']],
    [`${ASSETS}/dyn_item/info`, ['GET', 'HEAD']],
    [ITEMS, ['GET', 'HEAD', 'POST']],
    [`${ITEMS}/batch`, ['POST']],
    [`${ITEMS}/clean-up`, ['POST']],
    [`${ITEMS}/${ID}`, ['GET', 'HEAD', 'PUT']],
    [`${ASSETS}/dyn_stock_order/assets/${ID}/history`, ['GET', 'HEAD']],
    [`${ITEMS}/${ID}/history`, ['GET', 'HEAD']],
    ['/oauth/token', ['POST']],
    ['/.well-known/jwks.json', ['GET', 'HEAD']],
    ['/health/live', ['GET', 'HEAD']],
  ];
  it.each(paths)('decision: %s offers %j; any other method is 405 with Allow', async (path, allowed) => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND']) {
      if (allowed.includes(method)) continue;
      const before = await run.service.logHead();
      const answer = await acme().send(method, path, method === 'TRACE' ? {} : { raw: ITEM });
      expect({ method, path, status: answer.status }).toEqual({ method, path, status: 405 });
      expect(answer.headers.allow).toBe(allowed.join(', '));
      expectErrorBody(answer);
      expect(await run.service.logHead()).toBe(before);
    }
  });

  it('decision: OPTIONS says what a path allows', async () => {
    const answer = await acme().send('OPTIONS', ITEMS);
    expect(answer).toMatchObject({ status: 204, headers: { allow: 'GET, HEAD, POST' } });
  });

  it('§4: HEAD answers as GET does, without the body', async () => {
    for (const path of [ITEMS, `${ASSETS}/dyn_item/info`]) {
      expect(await acme().send('HEAD', path)).toMatchObject({
        status: 200,
        text: '',
        headers: { 'content-type': expect.stringContaining('json') },
      });
    }
    expect(await acme().send('HEAD', `${ITEMS}/${ID}`)).toMatchObject({ status: 404, text: '' });
  });
});

describe('415', () => {
  it.each([
    ['text/plain', ITEM],
    ['text/html', ITEM],
    ['application/x-www-form-urlencoded', 'external_id=E1&name=Tea'],
    ['multipart/form-data; boundary=x', ITEM],
    ['application/xml', '<item/>'],
    ['application/jsonp', ITEM],
    ['application/json; charset=utf-16', ITEM],
    ['application/json; charset=iso-8859-1', ITEM],
    ['', ITEM],
  ])('§1, decision: a body of the type %j is 415', async (type, raw) => {
    const send = (method: string, path: string) =>
      acme().send(method, path, { raw, headers: { 'content-type': type } });
    await expectRefused(run.service, 415, () => send('POST', ITEMS));
    await expectRefused(run.service, 415, () => send('POST', `${ITEMS}/batch`));
    await expectRefused(run.service, 415, () => send('POST', `${ITEMS}/clean-up`));
    await expectRefused(run.service, 415, () => send('PUT', `${ITEMS}/${ID}`));
  });

  it.each(['zip', 'zstd'])('decision: the content encoding %s, which is not known, is 415', async (encoding) => {
    await expectRefused(run.service, 415, () =>
      acme().send('POST', ITEMS, { raw: ITEM, headers: { 'content-encoding': encoding } }),
    );
  });

  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON; charset="UTF-8"',
    'application/json;charset=UTF-8',
  ])('§1: a body of the type %j is read', async (type) => {
    const answer = await acme().send('POST', ITEMS, { raw: '{}', headers: { 'content-type': type } });
    expect(answer.status).toBe(422);
  });
});

describe('400', () => {
  it.each([
    ['nothing', ''],
    ['white space', '  \n'],
    ['half an object', '{"external_id":'],
    ['single quotes', "{'external_id':'E1'}"],
    ['a trailing comma', '{"external_id":"E1","name":"Tea",}'],
    ['NaN', '{"external_id":"E1","name":"Tea","net_weight":NaN}'],
    ['a word', 'undefined'],
    ['HTML', '<html></html>'],
    ['a control character in a text', '{"external_id":"E\n1","name":"Tea"}'],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0xff, 0xfe, 0x7d])],
    ['UTF-16', Buffer.from(ITEM, 'utf16le')],
  ])('decision: a body of %s, which is not JSON, is 400', async (_what, raw) => {
    for (const path of [ITEMS, `${ITEMS}/batch`, `${ITEMS}/clean-up`])
      await expectRefused(run.service, 400, () => acme().send('POST', path, { raw }));
  });

  it('decision: a compressed body that is broken is 400, a good one is read', async () => {
    const headers = { 'content-encoding': 'gzip' };
    await expectRefused(run.service, 400, () =>
      acme().send('POST', ITEMS, { raw: gzipSync(ITEM).subarray(0, 20), headers }),
    );
    await expectRefused(run.service, 400, () => acme().send('POST', ITEMS, { raw: ITEM, headers }));
    expect((await acme().send('POST', ITEMS, { raw: gzipSync(ITEM), headers })).status).toBe(201);
  });
});

describe('413', () => {
  const path = `${ITEMS}/batch`;
  it('decision: a body over the limit of 8 MiB is 413', async () => {
    const raw = `{"items":[{"external_id":"E1","name":"${'x'.repeat(9_000_000)}"}]}`;
    await expectRefused(run.service, 413, () => acme().send('POST', path, { raw }));
  });

  it('decision: the limit counts what a compressed body unpacks to', async () => {
    const raw = gzipSync(Buffer.alloc(50_000_000, 0x20));
    await expectRefused(run.service, 413, () =>
      acme().send('POST', path, { raw, headers: { 'content-encoding': 'gzip' } }),
    );
  });

  it('decision: nobody unknown can make the service read a large body', async () => {
    const raw = `{"items":[{"external_id":"E1","name":"${'x'.repeat(9_000_000)}"}]}`;
    await expectRefused(run.service, 401, () => acme().send('POST', path, { raw, token: null }));
  });
});

describe('every error', () => {
  it('§7: is JSON, also for a browser that asks for HTML', async () => {
    const headers = { accept: 'text/html,application/xhtml+xml' };
    await expectRefused(run.service, 404, () => acme().send('GET', '/nothing', { headers, token: null }));
    await expectRefused(run.service, 401, () => acme().send('GET', ITEMS, { headers, token: null }));
    await expectRefused(run.service, 400, () => acme().send('GET', `${ITEMS}?page=0`, { headers }));
    await expectRefused(run.service, 400, () => acme().send('POST', ITEMS, { headers, raw: '{' }));
    await expectRefused(run.service, 401, () => acme().send('GET', `${PLATFORM}/orders`, { headers, token: null }));
  });

  it.each(['%', '%zz', '%E0%A4%A', '%C0%AE', '%FF'])(
    '§7: the escape %s in a path is a 4xx with the body of §7',
    async (sequence) => {
      for (const path of [`${ASSETS}/${sequence}/assets`, `${ITEMS}/${sequence}`, `/${sequence}`]) {
        const before = await run.service.logHead();
        const answer = await acme().send('GET', path);
        expect([400, 404]).toContain(answer.status);
        expectErrorBody(answer);
        expect(await run.service.logHead()).toBe(before);
      }
    },
  );

  it('§7: shows nothing of the inside: no stack, no path, no SQL', async () => {
    const answers = await Promise.all([
      acme().send('POST', ITEMS, { raw: '{' }),
      acme().getList('dyn_item', { 'filter[name" OR 1=1]': 'x' }),
      acme().getRecord('dyn_item', "'%20OR%201=1"),
      acme().postRecord('dyn_item', { name: { $gt: '' } }),
    ]);
    for (const { text } of answers) expect(text).not.toMatch(/node_modules|at \w+ \(|SQLITE|SELECT|\.js:/);
  });

  it.each([
    [400, 'Bad request.', `${ITEMS}?page=0`],
    [404, 'Not found.', '/nothing'],
  ])('§7: %i says "%s" and why', async (status, message, path) => {
    const answer = await expectRefused(run.service, status, () => acme().send('GET', path));
    expect(answer.body).toEqual({ message, error: expect.any(String) });
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
    expect(answer.headers['x-powered-by']).toBeUndefined();
  });

  it('§7: carries an id that the service made, another for each request, and guards against sniffing', async () => {
    const headers = { 'x-request-id': 'abc-1' };
    const ids = new Set<unknown>();
    for (const answer of [
      await acme().getRecord('dyn_item', ID, { headers }),
      await acme().getRecord('dyn_item', ID, { headers }),
    ]) {
      expect(answer.headers).toMatchObject({ 'x-content-type-options': 'nosniff' });
      expect(answer.headers['x-powered-by']).toBeUndefined();
      expect(answer.headers['x-request-id']).toMatch(/^[\da-f-]{36}$/);
      ids.add(answer.headers['x-request-id']);
    }
    expect(ids.size).toBe(2);
  });
});

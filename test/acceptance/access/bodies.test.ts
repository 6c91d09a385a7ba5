/** How a body may be sent: its media type, its content coding, and the expectation 100-continue. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { answersIn } from '../../fuzz/rawConnection.js';
import { expectRefused } from '../refusals.js';
import { ASSETS, PLATFORM } from '../tenant.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');
const ITEMS = `${ASSETS}/dyn_item/assets`;
const FORM = 'application/x-www-form-urlencoded';

let items = 0;
const item = (): string => {
  items += 1;
  return JSON.stringify({ external_id: `B${items}`, name: 'Thé' });
};

const tokenAs = (type: string, more: { readonly [name: string]: string } = {}) => {
  const { client_id, client_secret } = acme().client;
  const parameters = { grant_type: 'client_credentials', client_id, client_secret };
  const raw = type.toLowerCase().startsWith(FORM)
    ? new URLSearchParams(parameters).toString()
    : JSON.stringify(parameters);
  return acme().send('POST', '/oauth/token', { raw, token: null, headers: { 'content-type': type, ...more } });
};

describe('Content-Type', () => {
  it.each([
    'application/json; odata.metadata=minimal',
    'application/json;odata.metadata=minimal;odata.streaming=true;IEEE754Compatible=true;charset=utf-8',
    'application/json; profile="https://example.com/a;b=c"; CHARSET="Utf-8"',
    'APPLICATION/JSON ; charset=utf8',
    'application/json;',
    'application/json; version=1; charset=UTF-8; x="a\\"b"',
  ])('%s is JSON in UTF-8: other parameters are ignored (RFC 9110 §8.3)', async (type) => {
    const headers = { 'content-type': type };
    expect((await acme().send('POST', ITEMS, { raw: item(), headers })).status).toBe(201);
    expect((await tokenAs(type)).status).toBe(200);
    const { email, password } = acme().admin;
    const signIn = { raw: JSON.stringify({ email, password }), headers, token: null };
    expect((await acme().send('POST', `${PLATFORM}/session`, signIn)).status).toBe(200);
  });

  it.each([
    `${FORM}; charset=UTF-8`,
    `${FORM};charset="utf-8"; x=1`,
    `${FORM}; charset=ISO-8859-1`,
    FORM.toUpperCase(),
  ])('%s is a form, for a token', async (type) => expect((await tokenAs(type)).status).toBe(200));

  it.each([
    'application/json; charset=utf-16',
    'application/json; charset="iso-8859-1"; odata.metadata=minimal',
    'application/json; charset=',
  ])('%s is 415, which says what to send', async (type) => {
    const answer = await expectRefused(run.service, 415, () =>
      acme().send('POST', ITEMS, { raw: item(), headers: { 'content-type': type } }),
    );
    const error = 'Send the body in UTF-8, as Content-Type: application/json; charset=utf-8.';
    expect(answer.body).toMatchObject({ error });
    expect(await tokenAs(type)).toMatchObject({ status: 415, body: { error_description: error } });
  });

  it('a form in UTF-16 is 415, which says what to send', async () => {
    const error_description = `Send the form in UTF-8, as Content-Type: ${FORM}.`;
    expect(await tokenAs(`${FORM}; charset=utf-16`)).toMatchObject({ status: 415, body: { error_description } });
  });

  it.each(['application/merge-patch+json', 'application/vnd.api+json', 'application/json-patch+json', 'text/json'])(
    '%s is 415: JSON with rules of its own, which are not these',
    async (type) => {
      const answer = await expectRefused(run.service, 415, () =>
        acme().send('POST', ITEMS, { raw: item(), headers: { 'content-type': type } }),
      );
      expect(answer.headers.accept).toBe('application/json');
      expect(await tokenAs(type)).toMatchObject({ status: 415, headers: { accept: 'application/json' } });
    },
  );
});

describe('Content-Encoding', () => {
  it.each<[string, (text: string) => Buffer]>([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['X-GZip', gzipSync],
    ['GZIP', gzipSync],
    ['deflate', deflateSync],
    ['Br', brotliCompressSync],
    ['identity', Buffer.from],
    ['identity, gzip', gzipSync],
    [', gzip ,', gzipSync],
  ])('%s is read (RFC 9110 §8.4.1)', async (coding, encoded) => {
    const answer = await acme().send('POST', ITEMS, { raw: encoded(item()), headers: { 'content-encoding': coding } });
    expect(answer.status).toBe(201);
    expect(answer.text).toContain('Thé');
  });

  it.each(['zstd', 'compress', 'gzip, br', 'gzip, gzip', 'gzip;q=1', '*'])(
    '%s is 415, which says in Accept-Encoding what is read (RFC 9110 §12.5.3)',
    async (coding) => {
      const headers = { 'content-encoding': coding };
      const answer = await expectRefused(run.service, 415, () =>
        acme().send('POST', ITEMS, { raw: gzipSync(item()), headers }),
      );
      expect(answer.headers['accept-encoding']).toBe('gzip, deflate, br');
      expect(await tokenAs('application/json', headers)).toMatchObject({
        status: 415,
        headers: { 'accept-encoding': 'gzip, deflate, br' },
      });
    },
  );

  it('the limit counts what x-gzip unpacks to', async () => {
    const raw = gzipSync(Buffer.alloc(9_000_000, 0x20));
    const headers = { 'content-encoding': 'x-gzip' };
    await expectRefused(run.service, 413, () => acme().send('POST', `${ITEMS}/batch`, { raw, headers }));
  });
});

describe('Expect: 100-continue (RFC 9110 §10.1.1)', () => {
  type Asked = { readonly socket: Socket; readonly received: () => string };

  /** Sends the head alone, and waits for the first bytes that come back. */
  async function ask(path: string, fields: { readonly [name: string]: string }, method = 'POST'): Promise<Asked> {
    const socket = connect(run.service.port, '127.0.0.1');
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text;
    });
    const all = {
      Host: acme().host,
      Authorization: `Bearer ${await acme().token()}`,
      'Content-Type': 'application/json',
      Expect: '100-continue',
      ...fields,
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
    await once(socket, 'data');
    return { socket, received: () => received };
  }

  const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

  it.each(['100-continue', '100-Continue'])('%s: the body is asked for, and the connection goes on', async (Expect) => {
    const body = item();
    const length = String(Buffer.byteLength(body));
    const { socket, received } = await ask(ITEMS, { 'Content-Length': length, Expect });
    expect(received()).toBe(CONTINUE);
    socket.write(body);
    await once(socket, 'data');
    expect(received().slice(CONTINUE.length)).toMatch(/^HTTP\/1\.1 201 /);
    socket.write(`GET /health/live HTTP/1.1\r\nHost: ${acme().host}\r\nConnection: close\r\n\r\n`);
    await once(socket, 'close');
    expect(received()).toContain('{"status":"live"}');
  });

  it('a body in chunks is asked for as well', async () => {
    const { socket, received } = await ask(ITEMS, { 'Transfer-Encoding': 'chunked' });
    expect(received()).toBe(CONTINUE);
    const body = item();
    socket.write(`${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`);
    await once(socket, 'data');
    expect(received()).toContain(' 201 ');
    socket.destroy();
  });

  it.each<[number, string, string, { readonly [name: string]: string }]>([
    [413, 'over the limit', `${ITEMS}/batch`, { 'Content-Length': '8388609' }],
    [413, 'over the limit of a record', ITEMS, { 'Content-Length': '2097153' }],
    [413, 'over the limit of a token request', '/oauth/token', { 'Content-Length': '5000', 'Content-Type': FORM }],
    [401, 'without a good token', ITEMS, { 'Content-Length': '20', Authorization: 'Bearer nonsense' }],
    [404, 'to an unknown table', `${ASSETS}/dyn_thing/assets`, { 'Content-Length': '20' }],
    [405, 'to a path that takes none', `${ASSETS}/dyn_item/info`, { 'Content-Length': '20' }],
    [415, 'of another type', ITEMS, { 'Content-Length': '20', 'Content-Type': 'text/plain' }],
    [415, 'of another coding', ITEMS, { 'Content-Length': '20', 'Content-Encoding': 'zstd' }],
    [400, 'with a parameter that is unknown', `${ITEMS}?nonsense=1`, { 'Content-Length': '20' }],
    [417, 'with another expectation', ITEMS, { 'Content-Length': '20', Expect: 'the-moon' }],
  ])('%i for a body %s, before it is sent; the connection ends', async (status, _what, path, fields) => {
    const { socket, received } = await ask(path, fields);
    await once(socket, 'close');
    const [answer, ...others] = answersIn(Buffer.from(received(), 'latin1'), false);
    expect(others).toEqual([]);
    expect(answer?.status).toBe(status);
    expect(answer?.headers.get('connection')).toBe('close');
  });

  it('403 for a token that may only read, before the body is sent', async () => {
    const token = `Bearer ${await acme().token('read:reference_data')}`;
    const { received } = await ask(ITEMS, { 'Content-Length': '20', Authorization: token });
    expect(received()).toMatch(/^HTTP\/1\.1 403 /);
  });

  it('a request without a body is answered as any other', async () => {
    const { socket, received } = await ask(ITEMS, {}, 'GET');
    expect(received()).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });
});

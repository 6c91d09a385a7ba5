/** Requests in unusual clothes that are read all the same, and how their answers say so. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { CREDENTIALS_BODY_BYTES, RECORD_BODY_BYTES, SETTINGS_BODY_BYTES } from '#app/domain/limits.js';
import { ASSETS, PLATFORM, type RequestOptions } from '../tenant.js';
import { useService } from '../useService.js';

const { acme, service } = useService({ tenants: { acme: 'dyn_stock_order' } });
const ITEMS = `${ASSETS}/dyn_item/assets`;
const FORM = 'application/x-www-form-urlencoded';

let items = 0;
const item = (): string => {
  items += 1;
  return JSON.stringify({ external_id: `B${items}`, name: 'Thé' });
};
const credentials = () => {
  const { client_id, client_secret } = acme().client;
  return { grant_type: 'client_credentials', client_id, client_secret };
};
const tokenAs = (type: string) => {
  const isForm = type.toLowerCase().startsWith(FORM);
  const raw = isForm ? new URLSearchParams(credentials()).toString() : JSON.stringify(credentials());
  return acme().send('POST', '/oauth/token', { raw, token: null, headers: { 'content-type': type } });
};

describe('a body', () => {
  it.each([
    'application/json; odata.metadata=minimal;odata.streaming=true;IEEE754Compatible=true;charset=utf-8',
    'application/json; profile="https://example.com/a;b=c"; CHARSET="Utf-8"',
    'APPLICATION/JSON ; charset=utf8',
  ])('of the type %s is JSON in UTF-8: other parameters are ignored (RFC 9110 §8.3)', async (type) => {
    const headers = { 'content-type': type };
    expect((await acme().send('POST', ITEMS, { raw: item(), headers })).status).toBe(201);
    expect((await tokenAs(type)).status).toBe(200);
    const { email, password } = acme().admin;
    const signIn = { raw: JSON.stringify({ email, password }), headers, token: null };
    expect((await acme().send('POST', `${PLATFORM}/session`, signIn)).status).toBe(200);
  });

  it('of a form with a charset is a form, for a token', async () =>
    expect((await tokenAs(`${FORM}; charset=UTF-8`)).status).toBe(200));

  it.each<[string, (text: string) => Buffer]>([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['Br', brotliCompressSync],
  ])('in the coding %s is read (RFC 9110 §8.4.1)', async (coding, encoded) => {
    const answer = await acme().send('POST', ITEMS, { raw: encoded(item()), headers: { 'content-encoding': coding } });
    expect(answer.status).toBe(201);
    expect(answer.text).toContain('Thé');
  });

  it('begins with a byte order mark, which is passed over (RFC 8259 §8.1)', async () => {
    const marked = (text: string): RequestOptions => ({ raw: `\ufeff${text}` });
    const made = await acme().send('POST', ITEMS, marked('{"external_id":"bom","name":"\ufeffB"}'));
    expect(made).toMatchObject({ status: 201, body: { data: { name: '\ufeffB' } } });
    const asked = { ...marked(JSON.stringify(credentials())), token: null };
    expect((await acme().send('POST', '/oauth/token', asked)).status).toBe(200);
  });

  it.each([
    ['POST', '/oauth/token', CREDENTIALS_BODY_BYTES],
    ['POST', `${PLATFORM}/session`, CREDENTIALS_BODY_BYTES],
    ['POST', `${PLATFORM}/users`, SETTINGS_BODY_BYTES],
    ['PUT', `${ITEMS}/01a1feb1-9a64-76fa-95fa-131ef9230738`, RECORD_BODY_BYTES],
    ['POST', ITEMS, RECORD_BODY_BYTES],
    ['POST', `${ITEMS}/clean-up`, SETTINGS_BODY_BYTES],
    ['POST', `${ITEMS}/batch`, 4_194_304],
  ])('of %s %s may have %3$i bytes and not one more, compressed or not', async (method, path, limit) => {
    const token = path === '/oauth/token' ? null : await acme().tokenFor(path);
    const send = (length: number, headers = {}, pack = (text: string): string | Buffer => text) =>
      acme().send(method, path, { raw: pack('{'.padEnd(length)), headers, token });
    expect((await send(limit)).status).toBe(400);
    for (const answer of [await send(limit + 1), await send(limit + 1, { 'content-encoding': 'gzip' }, gzipSync)])
      expect(answer).toMatchObject({ status: 413, text: expect.stringContaining(`${limit} bytes`) });
  });
});

describe('a query', () => {
  it('repeats a filter, and a % that encodes nothing stands for itself', async () => {
    await acme().create('dyn_item', { external_id: 'p1', name: '50% off' });
    const totalOf = async (query: string) => (await acme().list('dyn_item', query)).meta.total;
    for (const query of [
      'filter[name]=50%',
      'filter[name]=0%+o',
      'filter[name]=50%25',
      'filter[name]=50&filter[name]=salt',
    ])
      expect([query, await totalOf(query)]).toEqual([query, 1]);
  });

  it('of the token endpoint may have unknown parameters (RFC 6749 §3.2)', async () => {
    expect((await acme().send('POST', '/oauth/token?nonsense=1', { body: credentials(), token: null })).status).toBe(
      200,
    );
  });
});

describe('header fields', () => {
  it.each(['items=0-24', 'bytes=0-99', 'nonsense'])(
    'Range: %s is ignored: the whole is sent (RFC 9110 §14.2)',
    async (range) => {
      const whole = await acme().getList('dyn_item');
      for (const headers of [{ range }, { range, 'if-range': String(whole.headers.etag) }]) {
        const answer = await acme().getList('dyn_item', '', { headers });
        expect(answer).toMatchObject({ status: 200, text: whole.text });
        expect((await acme().send('GET', '/docs', { headers, token: null })).status).toBe(200);
        expect((await acme().postRecord('dyn_item', {}, { headers })).status).toBe(422);
      }
    },
  );
});

describe('Expect: 100-continue (RFC 9110 §10.1.1)', () => {
  type Asked = { readonly socket: Socket; readonly received: () => string };

  /** Sends the head alone, and waits for the first bytes that come back. */
  async function ask(path: string, fields: { readonly [name: string]: string }, method = 'POST'): Promise<Asked> {
    const socket = connect(service().port, '127.0.0.1');
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
  const whole = (text: string): readonly [{ [name: string]: string }, string] => [
    { 'Content-Length': String(Buffer.byteLength(text)), Expect: '100-Continue' },
    text,
  ];
  const inChunks = (text: string): readonly [{ [name: string]: string }, string] => [
    { 'Transfer-Encoding': 'chunked' },
    `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n0\r\n\r\n`,
  ];

  it.each([
    ['whole', whole],
    ['in chunks', inChunks],
  ])('a body that comes %s is asked for, and the connection goes on', async (_how, framed) => {
    const [fields, bytes] = framed(item());
    const { socket, received } = await ask(ITEMS, fields);
    expect(received()).toBe(CONTINUE);
    socket.write(bytes);
    await once(socket, 'data');
    expect(received().slice(CONTINUE.length)).toMatch(/^HTTP\/1\.1 201 /);
    socket.write(`GET /health/live HTTP/1.1\r\nHost: ${acme().host}\r\nConnection: close\r\n\r\n`);
    await once(socket, 'close');
    expect(received()).toContain('{"status":"live"}');
  });
});

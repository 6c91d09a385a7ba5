/** What comes in is text in UTF-8, and nothing of it is said twice: bodies, queries and paths. */
import { z } from 'zod';
import { type Json, operationsOf } from '../apiDocument.js';
import { expectRefused } from '../refusals.js';
import { ASSETS, PLATFORM } from '../tenant.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');
const ITEMS = `${ASSETS}/dyn_item/assets`;
const ID = '01a1feb1-9a64-76fa-95fa-131ef9230738';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

type Called = {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly string[];
  readonly example: unknown;
};

/** Every operation, with the names of the parameters of its query, and a body. */
async function operations(): Promise<readonly Called[]> {
  const document: Json = (await acme().send('GET', '/openapi.json', { token: null })).body;
  const resolved = ({ $ref, ...given }: Json): Json =>
    $ref === undefined ? given : document.components.parameters[$ref.split('/').at(-1)];
  return operationsOf(document).map(({ method, path, operation: { parameters = [], requestBody } }) => ({
    method,
    path: path.replaceAll(/\{[a-z_]+\}/g, ID),
    parameters: parameters.map(resolved).flatMap((each) => (each.in === 'query' ? [each.name] : [])),
    example: requestBody?.content['application/json'].example,
  }));
}

/** Sends the query and answers with the reason of its 400. */
async function refused({ method, path }: Pick<Called, 'method' | 'path'>, query: string): Promise<unknown> {
  const token = await acme().tokenFor(path);
  const { body } = await expectRefused(run.service, 400, () => acme().send(method, `${path}?${query}`, { token }));
  return z.object({ error: z.string() }).parse(body).error;
}

describe('queries', () => {
  it('a parameter that is no list is 400 where it is given twice, whatever the operation', async () => {
    const given = (await operations()).flatMap((each) =>
      each.parameters.filter((name) => !name.includes('[') && name !== 'filter').map((name) => ({ ...each, name })),
    );
    expect(given.length).toBeGreaterThan(60);
    for (const each of given) {
      if (each.path === '/openapi.json') continue;
      expect([each.path, await refused(each, `${each.name}=1&${each.name}=1`)]).toEqual([
        each.path,
        `${each.name} is given twice.`,
      ]);
    }
  });

  it('decision: a filter and the tables of the document repeat', async () => {
    await acme().create('dyn_item', { external_id: 'tea', name: 'Tea' });
    const { meta } = await acme().list('dyn_item', 'filter[name]=tea&filter[name]=salt');
    expect(meta.total).toBe(1);
    const tables = await acme().send('GET', '/openapi.json?table=dyn_item&table=dyn_party', { token: null });
    expect(tables.status).toBe(200);
  });

  it.each(['%ff=1', 'page=%ff', 'page=%C3%28', 'page=%C0%80', 'page=%ED%A0%80', 'page=%F4%90%80%80', 'page=%E2%82'])(
    '?%s is 400, whatever the operation: no UTF-8 (RFC 3629)',
    async (query) => {
      for (const each of await operations()) {
        if (each.path === '/oauth/token') continue;
        expect([each.path, await refused(each, query)]).toEqual([
          each.path,
          'The query is not valid UTF-8, percent-encoded.',
        ]);
      }
    },
  );

  it('a filter of bytes that are not percent-encoded is 400 as well, and was taken for other letters', async () => {
    const path = `${ITEMS}?filter[name]=${Buffer.from('é').toString('latin1')}`;
    await expectRefused(run.service, 400, () => acme().send('GET', path));
  });

  it('a NUL character is 400 and the parameter named, whatever the operation', async () => {
    for (const each of await operations()) {
      if (each.path === '/oauth/token') continue;
      expect([each.path, await refused(each, 'page=a%00')]).toEqual([each.path, 'page has a NUL character.']);
    }
  });

  it('a % that encodes nothing stands for itself', async () => {
    await acme().create('dyn_item', { external_id: 'p1', name: '50% off' });
    for (const query of ['filter[name]=50%', 'filter[name]=0% o', 'filter[name]=50%25']) {
      expect((await acme().list('dyn_item', query.replace(' ', '+'))).meta.total).toBe(1);
    }
  });
});

describe('paths', () => {
  it.each(['%ff', '%C3%28', '%C0%80', '%ED%A0%80', '%00', 'a%00b', '%zz'])(
    '%s in place of a name or an id is 400 or 404, whatever the operation',
    async (text) => {
      for (const { method, path, example: body } of await operations()) {
        if (!path.includes(ID)) continue;
        const before = await run.service.logHead();
        const token = await acme().tokenFor(path);
        const answer = await acme().send(method, path.replaceAll(ID, text), {
          token,
          ...(body === undefined ? {} : { body }),
        });
        expect([method, path, answer.status]).toEqual([method, path, answer.status === 404 ? 404 : 400]);
        expect(await run.service.logHead()).toBe(before);
      }
    },
  );
});

describe('RFC 8259 §4: a name twice in one object of a body is 400, with its path', () => {
  const CLEAN_UP = `${ITEMS}/clean-up`;
  it.each([
    ['POST', ITEMS, '{"external_id":"d1","external_id":"d2","name":"D"}', 'external_id'],
    ['POST', ITEMS, '{"external_id":"d1","name":"D","n\\u0061me":"E"}', 'name'],
    ['PUT', `${ITEMS}/${ID}`, '{"name":"D","name":"D"}', 'name'],
    ['POST', `${ITEMS}/batch`, '{"items":[],"items":[{"external_id":"d1","name":"D"}]}', 'items'],
    [
      'POST',
      `${ITEMS}/batch`,
      '{"items":[{"external_id":"d1","name":"D"},{"external_id":"d2","name":"D","_batch_id":"a","_batch_id":"b"}]}',
      'items.1._batch_id',
    ],
    ['POST', CLEAN_UP, '{"batch_id":"a","batch_id":"b"}', 'batch_id'],
    ['POST', CLEAN_UP, '{"batch_id":"a","\\u0062atch_id":"a"}', 'batch_id'],
    ['POST', `${ASSETS}/dyn_stock_order/assets`, '{"lines":[{"quantity":1,"quantity":2}]}', 'lines.0.quantity'],
    ['POST', `${PLATFORM}/api-clients`, '{"name":"A","name":"B"}', 'name'],
    [
      'POST',
      `${PLATFORM}/webhooks`,
      '{"url":"https://127.0.0.1:9/","custom_data":{"a":{"b":1,"b":2}}}',
      'custom_data.a.b',
    ],
    ['POST', `${PLATFORM}/session`, '{"email":"a@example.com","password":"x","password":"y"}', 'password'],
  ])('%s %s %s', async (method, path, raw, name) => {
    const send = async () => acme().send(method, path, { raw, token: await acme().tokenFor(path) });
    const { body } = await expectRefused(run.service, 400, send);
    expect(body).toEqual({ message: 'Bad request.', error: `The body has ${name} twice.` });
  });

  it('RFC 6749 §5.2: of a token request it is invalid_request', async () => {
    const { client_id, client_secret } = acme().client;
    const raw = `{"grant_type":"client_credentials","client_id":"${client_id}","client_secret":"${client_secret}","client_id":"x\\"é"}`;
    const send = (text: string) => acme().send('POST', '/oauth/token', { token: null, raw: text });
    expect(await send(raw)).toMatchObject({
      status: 400,
      body: { error: 'invalid_request', error_description: 'The body has client_id twice.' },
    });
    expect((await send('{"é\\"":1,"é\\"":2}')).body).toMatchObject({ error_description: 'The body has ?? twice.' });
  });
});

describe('token requests as a form (RFC 6749 §3.2, Appendix B)', () => {
  const send = (raw: string | Buffer, headers = FORM) =>
    acme().send('POST', '/oauth/token', { token: null, raw, headers });
  const good = () => {
    const { client_id, client_secret } = acme().client;
    return `grant_type=client_credentials&client_id=${client_id}&client_secret=${client_secret}`;
  };

  it.each([
    ['a parameter twice', () => `${good()}&scope=a&scope=a`],
    ['a parameter twice, one of them empty', () => `${good()}&scope=&scope=read:order_data`],
    ['a parameter twice, one of them escaped', () => `${good()}&%63lient_id=x`],
    ['an unknown parameter twice', () => `${good()}&other=1&other=2`],
    ['no UTF-8', () => `${good()}&scope=%ff`],
    ['an overlong form', () => `${good()}&scope=%C0%80`],
    ['a surrogate', () => `${good()}&scope=%ED%A0%80`],
    ['bytes that are no UTF-8', () => Buffer.concat([Buffer.from(`${good()}&scope=`), Buffer.from([0xff])])],
  ])('%s is invalid_request', async (_what, raw) => {
    expect(await send(raw())).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  });

  it('a form in UTF-8 that says so is read, one in another charset is 415', async () => {
    expect((await send(good(), { 'content-type': `${FORM['content-type']};charset=UTF-8` })).status).toBe(200);
    expect((await send(good(), { 'content-type': `${FORM['content-type']};charset=utf-16` })).status).toBe(415);
  });
});

describe('RFC 8259 §8.1: a byte order mark', () => {
  const MARK = Buffer.from([0xef, 0xbb, 0xbf]);
  const marked = (text: string) => Buffer.concat([MARK, Buffer.from(text)]);

  it('at the start of a body is passed over', async () => {
    const raw = marked('{"external_id":"bom","name":"\ufeffB"}');
    expect(await acme().send('POST', ITEMS, { raw })).toMatchObject({
      status: 201,
      body: { data: { name: '\ufeffB' } },
    });
    const { client_id, client_secret } = acme().client;
    const credentials = JSON.stringify({ grant_type: 'client_credentials', client_id, client_secret });
    expect((await acme().send('POST', '/oauth/token', { token: null, raw: marked(credentials) })).status).toBe(200);
  });

  it.each([
    ['twice', () => Buffer.concat([MARK, marked('{}')])],
    ['alone', () => MARK],
    ['within it', () => Buffer.concat([Buffer.from('{'), marked('}')])],
    ['of UTF-16', () => Buffer.from('\ufeff{}', 'utf16le')],
  ])('%s is 400', async (_what, raw) => {
    await expectRefused(run.service, 400, () => acme().send('POST', ITEMS, { raw: raw() }));
  });
});

/** What every operation of the document refuses alike, and to whom: scopes of clients, roles of people. Nothing is stored. */
import { setTimeout as wait } from 'node:timers/promises';
import { type DocumentedOperation, type Json, operationsOf } from '../apiDocument.js';
import type { Answer } from '../http.js';
import { addPerson, type Role } from '../people.js';
import { expectErrorBody, expectRefused } from '../refusals.js';
import { wholeDocument, withTables } from '../tableDocument.js';
import { ASSETS, PLATFORM, type RequestOptions } from '../tenant.js';
import { useService } from '../useService.js';

const { acme, service } = useService({ tenants: { acme: 'dyn_stock_order' } });
const ID = '01a1feb1-9a64-76fa-95fa-131ef9230738';

type Guarded = {
  readonly method: string;
  /** As the document has it, and with an id of nothing in each place. */
  readonly template: string;
  readonly path: string;
  /** Parameters of its query. */
  readonly parameters: readonly string[];
  readonly operation: DocumentedOperation;
};
let document: Json;
let all: readonly Guarded[];
/** Those of one table of each kind stand for those of all others. */
let guarded: readonly Guarded[];

beforeAll(async () => {
  document = withTables(await wholeDocument(acme()));
  all = operationsOf(document).map(({ method, path: template, operation }) => ({
    method,
    template,
    path: template.replaceAll(/\{[a-z_]+\}/g, ID),
    parameters: (operation.parameters ?? []).flatMap((each) => (each.in === 'query' ? [each.name] : [])),
    operation,
  }));
  guarded = all.filter(({ path }) => !/\/dyn_(?!item\/|order_line\/|stock_order\/)\w+\//.test(path));
  expect(guarded.length).toBeGreaterThan(100);
  // In the first seconds a proof is 503: the tree is not made yet.
  const prove = async () => (await acme().platform('GET', `/audit/proof?event=${ID}`)).status;
  while ((await prove()) === 503) await wait(100);
});

/** Sends each request and tells of those whose answers are wrong, all at once. */
async function expectAll<T extends Guarded>(
  operations: readonly T[],
  requestOf: (operation: T) => RequestOptions & { readonly method?: string; readonly path?: string },
  isRight: (answer: Answer, operation: T) => boolean,
): Promise<void> {
  const wrong: string[] = [];
  const tokens = new Map<string, string>();
  for (const { path } of operations) tokens.set(path, await acme().tokenFor(path));
  const before = await service().logHead();
  for (const operation of operations) {
    const { method = operation.method, path = operation.path, ...options } = requestOf(operation);
    const answer = await acme().send(method, path, { token: tokens.get(operation.path) ?? null, ...options });
    // RFC 6749 §5.2 has errors of its own.
    if (answer.status >= 400 && path !== '/oauth/token') expectErrorBody(answer);
    if (!isRight(answer, operation))
      wrong.push(`${method} ${path} ${options.query ?? ''}: ${answer.status} ${answer.text}`);
  }
  expect(wrong).toEqual([]);
  expect(await service().logHead()).toBe(before);
}
const says = (status: number, error: string) => (answer: Answer) =>
  answer.status === status && String(Reflect.get(Object(answer.body), 'error')).includes(error);

describe('every operation', () => {
  /** Pages of the console read their parameters themselves; RFC 6749 §3.2 has unknown ones ignored. */
  const strict = () =>
    guarded
      .filter(({ path }) => path !== '/oauth/token' && !path.startsWith('/console'))
      // An unknown table is 404 before.
      .map((each) => ({ ...each, path: each.path.replace(`/tables/${ID}/`, '/tables/dyn_item/') }));

  it.each([
    ['an unknown parameter', 'nonsense=1', 'Unknown parameter nonsense; '],
    ['a query that is no UTF-8 (RFC 3629)', '%C3%28=1', 'The query is not valid UTF-8, percent-encoded.'],
    ['an overlong form', 'page=%C0%80', 'The query is not valid UTF-8, percent-encoded.'],
    ['a surrogate', 'page=%ED%A0%80', 'The query is not valid UTF-8, percent-encoded.'],
    ['a NUL character', 'page=a%00', 'page has a NUL character.'],
  ])('refuses %s with 400, and names it', async (_what, query, error) => {
    await expectAll(strict(), () => ({ query }), says(400, error));
  });

  it('refuses a parameter that is no list where it is given twice', async () => {
    const given = guarded.flatMap((operation) =>
      operation.parameters.filter((name) => !/\[|^filter$|^table$/.test(name)).map((name) => ({ ...operation, name })),
    );
    expect(given.length).toBeGreaterThan(60);
    await expectAll(
      given,
      ({ name }) => ({ query: `${name}=1&${name}=1` }),
      (answer, { name }) => says(400, `${name} is given twice.`)(answer),
    );
  });

  it.each(['%ff', '%C0%80', 'a%00b', '%zz'])('refuses %s in place of a name or an id with 400 or 404', async (text) => {
    await expectAll(
      guarded.filter(({ path }) => path.includes(ID)),
      ({ path, operation }) => ({
        path: path.replaceAll(ID, text),
        body: operation.requestBody?.content['application/json'].example,
      }),
      ({ status }) => status === 400 || status === 404,
    );
  });

  it('§5.4: asks for a token where the document says so, and tells a stranger of no error (RFC 6750 §3.1)', async () => {
    const CHALLENGE = 'Bearer realm="dynamic-assets"';
    const needing = guarded.filter(
      ({ operation }) => operation.security.length > 0 && operation.operationId !== 'platformSignOut',
    );
    await expectAll(
      needing,
      () => ({ token: null }),
      ({ status, headers }) => status === 401 && headers['www-authenticate'] === CHALLENGE,
    );
    // Those that need none miss their body here, or lead on, but are found.
    const open = guarded.filter(({ operation }) => operation.security.length === 0);
    const found = ({ path }: Guarded) => ({ token: null, path: path.replace(ID, 'getting-started') });
    await expectAll(open, found, ({ status }) => [200, 204, 302, 400, 415].includes(status));
  });

  it('decision: a method that a path does not offer is 405 with those that it does', async () => {
    const methodsAt = new Map<string, readonly string[]>();
    for (const { path, method } of guarded) methodsAt.set(path, [...(methodsAt.get(path) ?? []), method]);
    const allowed = (answer: Answer) =>
      String(answer.headers.allow)
        .split(', ')
        .filter((method) => method !== 'HEAD')
        .sort();
    for (const method of ['PATCH', 'PROPFIND', 'OPTIONS'])
      await expectAll(
        guarded.filter(({ path }) => !path.startsWith('/console') && !path.startsWith('/docs') && path !== '/'),
        () => ({ method, body: {} }),
        (answer, { path }) =>
          answer.status === 405 &&
          JSON.stringify(allowed(answer)) === JSON.stringify([...(methodsAt.get(path) ?? [])].sort()),
      );
  });

  it('§4: HEAD answers as GET does, without the body', async () => {
    for (const [path, status] of [
      [`${ASSETS}/dyn_item/assets`, 200],
      [`${ASSETS}/dyn_item/assets/${ID}`, 404],
    ] as const) {
      const type = expect.stringContaining('json');
      expect(await acme().send('HEAD', path)).toMatchObject({ status, text: '', headers: { 'content-type': type } });
    }
  });
});

describe('scopes', () => {
  const SCOPES = ['read:reference_data', 'write:reference_data', 'read:order_data', 'write:order_data'];

  it.each(SCOPES)(
    '§5.6: a token with %s alone opens what the document says, and nothing else of the tables',
    async (scope) => {
      const token = await acme().token(scope);
      const ofTables = guarded.filter(({ path }) => path.startsWith(`${ASSETS}/dyn_`));
      const needs = ({ operation }: Guarded): readonly string[] =>
        operation.security.flatMap((each) => Reflect.get(each, 'oauth2') ?? Reflect.get(each, 'audit') ?? []);
      // Only what §4 has, whatever the document says of it.
      const kind = ({ path }: Guarded) => (path.includes('dyn_item') ? 'reference_data' : 'order_data');
      for (const each of ofTables.filter(({ path }) => !/replay/.test(path)))
        expect([each.template, needs(each)]).toEqual([
          each.template,
          [expect.stringMatching(new RegExp(`:${kind(each)}$`))],
        ]);
      await expectAll(
        ofTables,
        () => ({ token, query: 'nonsense=1' }),
        (answer, operation) => {
          if (needs(operation).includes(scope)) return answer.status === 400;
          const challenge = `Bearer realm="dynamic-assets", error="insufficient_scope", scope="${needs(operation).join(' ')}"`;
          return answer.status === 403 && answer.headers['www-authenticate'] === challenge;
        },
      );
    },
  );

  it('an unknown table is 404 before the scope is looked at, the scope before the parameters and the body', async () => {
    const token = await acme().token('read:order_data');
    await expectRefused(service(), 404, () => acme().getList('dyn_nothing', 'nonsense=1', { token }));
    await expectRefused(service(), 403, () => acme().getList('dyn_item', 'nonsense=1', { token }));
    await expectRefused(service(), 403, () => acme().send('POST', `${ASSETS}/dyn_item/assets`, { token, raw: '{' }));
    const both = await acme().token('read:reference_data read:order_data');
    for (const table of ['dyn_item', 'dyn_stock_order']) await acme().list(table);
    expect((await acme().getList('dyn_stock_order', '', { token: both })).status).toBe(200);
    expect((await acme().postRecord('dyn_item', {}, { token: both })).status).toBe(403);
  });
});

describe('roles', () => {
  /** Of sessions of one's own. */
  const OWN = ['/session', '/session/password', '/sessions', '/sessions/{session_id}'].map((path) => PLATFORM + path);
  const ADMINS = ['admin'];
  const WHO_SEES_SETTINGS = ['admin', 'auditor'];
  const EVERYBODY = ['admin', 'validator', 'auditor'];
  const OF_ORDERS = ['admin', 'validator'];

  /** The roles that may call an operation of the platform, by the first part of its path that is here. */
  const READS: readonly (readonly [string, readonly string[]])[] = [
    ['/api-clients', WHO_SEES_SETTINGS],
    ['/webhooks', WHO_SEES_SETTINGS],
    ['/users', WHO_SEES_SETTINGS],
    ['/activity', WHO_SEES_SETTINGS],
    ['/audit', WHO_SEES_SETTINGS],
    ['/orders/{order_id}/replay', WHO_SEES_SETTINGS],
    ['/orders/{order_id}/export', WHO_SEES_SETTINGS],
    ['', EVERYBODY],
  ];
  const WRITES: readonly (readonly [string, readonly string[]])[] = [
    ['/orders', OF_ORDERS],
    ['', ADMINS],
  ];
  const mayCall = ({ method, template }: Guarded): readonly string[] =>
    (method === 'GET' ? READS : WRITES).find(([begin]) => template.startsWith(PLATFORM + begin))?.[1] ?? [];

  /** Of paths that end like this. */
  async function neededQueries(): Promise<ReadonlyMap<string, string>> {
    const head = await service().logHead();
    return new Map([
      ['compare', `from=${head}&to=${head}`],
      ['proof', `event=${ID}`],
    ]);
  }

  it.each<Role>(['admin', 'validator', 'auditor'])(
    '§5.1, §6: a person with the role %s may call what is theirs, and nothing else',
    async (role) => {
      const { token } = await addPerson(acme(), role, [role]);
      const queries = await neededQueries();
      await expectAll(
        // A body of nothing is a whole request to some.
        guarded.filter(
          ({ template, method }) =>
            template.startsWith(PLATFORM) && !OWN.includes(template) && !(role === 'admin' && method !== 'GET'),
        ),
        ({ method, path, template }) => ({
          token,
          path: template.includes('{table}') ? path.replace(ID, 'dyn_item') : path,
          query: queries.get(template.split('/').at(-1) ?? '') ?? '',
          ...(method === 'POST' || method === 'PUT' ? { body: {} } : {}),
        }),
        ({ status }, operation) =>
          mayCall(operation).includes(role) ? [200, 202, 400, 404, 409, 422].includes(status) : status === 403,
      );
    },
  );

  it('an API client that audits reads all that an auditor reads, and changes nothing', async () => {
    const token = await acme().auditToken();
    const queries = await neededQueries();
    await expectAll(
      guarded.filter(({ path }) => (path.startsWith(PLATFORM) || path.startsWith(ASSETS)) && !OWN.includes(path)),
      ({ method, path, template }) => ({
        token,
        path: path.startsWith(PLATFORM) && template.includes('{table}') ? path.replace(ID, 'dyn_item') : path,
        query: queries.get(template.split('/').at(-1) ?? '') ?? '',
        ...(method === 'POST' || method === 'PUT' ? { body: {} } : {}),
      }),
      ({ status }, { method }) => (method === 'GET' ? [200, 202, 404].includes(status) : status === 403),
    );
  });

  it('tokens of clients are none of people, and the other way round', async () => {
    const [client, person] = [await acme().token(), await acme().signIn()];
    await expectAll(
      guarded.filter(({ path }) => path.startsWith(PLATFORM) && path !== OWN[0]),
      () => ({ token: client }),
      ({ status, headers }) => status === 401 && String(headers['www-authenticate']).includes('invalid_token'),
    );
    const ofClients = guarded.filter(({ path }) => path.startsWith(ASSETS));
    await expectAll(
      ofClients,
      () => ({ token: person }),
      ({ status }) => status === 401,
    );
    const headers = { cookie: `da_session=${person}` };
    await expectAll(
      ofClients,
      () => ({ token: null, headers }),
      ({ status }) => status === 401,
    );
  });
});

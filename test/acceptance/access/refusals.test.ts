/**
 * What is refused, one request a row: the place that says so, the request, the status, and what the answer says. Each answer has
 * the body of spec §7, and nothing is stored. What every operation refuses alike is in guards.test.ts.
 */
import { gzipSync } from 'node:zlib';
import * as limits from '#app/domain/limits.js';
import { expectRefused, fieldErrors } from '../refusals.js';
import { ASSETS, PLATFORM, type RequestOptions } from '../tenant.js';
import { useService } from '../useService.js';

const { acme, service } = useService({ tenants: { acme: 'dyn_stock_order' } });

const ID = '01a1feb1-9a64-76fa-95fa-131ef9230738';
const ITEMS = `${ASSETS}/dyn_item/assets`;
const ONE = `${ITEMS}/${ID}`;
const BATCH = `${ITEMS}/batch`;
const CLEAN_UP = `${ITEMS}/clean-up`;
const ORDERS = `${ASSETS}/dyn_stock_order/assets`;
const ORDER = `${PLATFORM}/orders/${ID}`;
const WEBHOOKS = `${PLATFORM}/webhooks`;
const TABLES = `${PLATFORM}/asset-types`;
const ACTIVITY = `${PLATFORM}/activity`;
const USERS = `${PLATFORM}/users`;
const CLIENTS = `${PLATFORM}/api-clients`;
const SESSION = `${PLATFORM}/session`;
const SETTINGS = `${PLATFORM}/tenant`;
const USER = { first_name: 'E', last_name: 'S', roles: ['admin'] };
const TEA = { external_id: 'E1', name: 'Tea' };
const ITEM = JSON.stringify(TEA);

/** Text that the answer has, names of the fields with errors, or header fields. */
type Says = string | readonly string[] | { readonly [header: string]: string };
type Row = readonly [
  cites: string,
  what: string,
  status: number,
  method: string,
  path: string,
  sent?: RequestOptions | (() => RequestOptions),
  says?: Says,
];
const isFields = (says: Says): says is readonly string[] => Array.isArray(says);
const raw = (text: string | Buffer): RequestOptions => ({ raw: text });
const body = (value: unknown): RequestOptions => ({ body: value });
const typed = (type: string): RequestOptions => ({ raw: ITEM, headers: { 'content-type': type } });
const coded = (coding: string, bytes = gzipSync(ITEM)): RequestOptions => ({
  raw: bytes,
  headers: { 'content-encoding': coding },
});
const asked = (query: string): RequestOptions => ({ query });
const promised = (name: string, value: string, more: RequestOptions = body({})): RequestOptions => ({
  ...more,
  headers: { [name]: value },
});
const withoutEffect = (name: string, method: string): string =>
  name === 'Idempotency-Key' && method === 'PUT'
    ? 'Idempotency-Key is not needed on PUT: a PUT can be repeated.'
    : `${name} has no effect on this ${method}: send it without.`;
const numbers = (count: number): string => Array.from({ length: count }, (_, n) => n).join(',');
const webhookWith = (customData: string): RequestOptions =>
  raw(`{"url":"https://127.0.0.1:9/","custom_data":${customData}}`);
const TWICE = 'An object in the body has a name twice.';
const MARK = '\ufeff';

const ALL = { ...limits };
/** One more than a limit, which the answer names unless it names fields. */
const beyond = (
  limit: keyof typeof ALL,
  status: number,
  method: string,
  path: string,
  sent: (count: number) => RequestOptions,
  says: Says = String(ALL[limit]),
): Row => [limit, `more than ${ALL[limit]}`, status, method, path, () => sent(ALL[limit] + 1), says];
const texts = (count: number): readonly string[] => Array(count).fill('x');
const text = (length: number): string => 'x'.repeat(length);

const LONG = Array.from({ length: 16 }, (_, n) => `text_${n}`);
beforeAll(async () => {
  const fields = [
    { name: 'code', type: 'String', required: true },
    ...LONG.map((name) => ({ name, type: 'LongText' })),
  ];
  await acme().platformData('POST', '/asset-types', { name: 'dyn_text', unique_field: 'code', fields });
});
const megabyte = () =>
  body({ code: 'A', ...Object.fromEntries(LONG.map((name) => [name, text(limits.MAX_LONG_TEXT_LENGTH)])) });

const LIMITS: readonly Row[] = [
  ['docs/limits.md', 'an event of more than a megabyte', 413, 'POST', `${ASSETS}/dyn_text/assets`, megabyte, '1000000'],
  beyond('MAX_HEADER_BYTES', 431, 'GET', ITEMS, (n) => asked(`filter[name]=${text(n)}`), ''),
  beyond('MAX_HEADER_BYTES', 431, 'GET', ITEMS, (n) => ({ headers: { 'x-filler': text(n) } }), ''),
  beyond('MAX_JSON_DEPTH', 400, 'POST', BATCH, (n) => raw('['.repeat(n))),
  beyond('MAX_JSON_VALUES', 413, 'POST', BATCH, (n) => raw(`[${'0,'.repeat(n - 1)}0]`)),
  beyond('MAX_JSON_NAMES', 422, 'POST', ITEMS, (n) => raw(`{${text(n).replaceAll('x', '"x":0,')}}`), ['body']),
  beyond('MAX_DIGITS', 422, 'POST', ITEMS, (n) => raw('7'.repeat(n)), ['body']),
  beyond('MAX_RECORDS', 422, 'POST', BATCH, (n) => body({ items: texts(n) }), ['items']),
  beyond('MAX_FILTER_VALUES', 400, 'GET', ITEMS, (n) =>
    asked(`filter[name]=${numbers(n - 100)}&filter[sku]=${numbers(100)}`),
  ),
  beyond('MAX_SORT_TERMS', 400, 'GET', ITEMS, (n) => asked(`sort=${Array(n).fill('name')}`)),
  beyond('MAX_STRING_LENGTH', 400, 'GET', ITEMS, (n) => asked(`filter[name]=${text(n)}`)),
  beyond('MAX_STRING_LENGTH', 422, 'POST', ITEMS, (n) => body({ ...TEA, name: text(n) }), ['name']),
  beyond('MAX_LONG_TEXT_LENGTH', 422, 'POST', ITEMS, (n) => body({ ...TEA, description: text(n) }), ['description']),
  beyond('MAX_URL_LENGTH', 422, 'POST', WEBHOOKS, (n) => body({ url: 'https://127.0.0.1/'.padEnd(n, 'x') }), ['url']),
  beyond('MAX_REASON_LENGTH', 422, 'POST', `${ORDER}/reject`, (n) => body({ reasons: [text(n)] }), ['reasons.0']),
  beyond('MAX_LIST_ENTRIES', 422, 'POST', ORDERS, (n) => body({ error_reason: texts(n) }), ['error_reason']),
  beyond('MAX_VALUE_BYTES', 422, 'POST', WEBHOOKS, (n) => webhookWith(`{"a":"${text(n - 8)}"}`), ['custom_data']),
  beyond('MAX_FIELDS', 422, 'POST', TABLES, (n) => body({ name: 'dyn_wide', fields: texts(n) }), ['fields']),
  beyond('MAX_ORDER_PARTS', 422, 'POST', ORDERS, (n) => body({ lines: texts(n) }), ['lines']),
  beyond('MAX_ENTRIES', 400, 'GET', ACTIVITY, (n) => asked(`limit=${n}`)),
  beyond('MAX_ACTIVITY_ROWS', 400, 'GET', `${ACTIVITY}.csv`, (n) => asked(`limit=${n}`)),
];

const NOT_JSON = 'The body is not valid JSON.';
const SEND_UTF8 = 'Send the body as Content-Type: application/json, in UTF-8.';
const READ_CODINGS = { 'accept-encoding': 'gzip, deflate, br' };
const TAKES_JSON = { accept: 'application/json' };

const PATHS: readonly Row[] = [
  '/api',
  '/api/v1/dynamic-assets',
  `${ASSETS}/dyn_item`,
  `${ASSETS}/dyn_item/asset`,
  `${ONE}/unknown`,
  `${ONE}/history/1`,
  `${ASSETS.toUpperCase()}/dyn_item/assets`,
  `${ASSETS}/dyn_item/ASSETS`,
  `${ITEMS}/E1`,
  ONE,
  '/index.html',
  `${ASSETS}/../../../../etc/passwd`,
  `${ASSETS}/..%2f..%2fetc%2fpasswd`,
  '//',
  '/%00',
  `${PLATFORM}/unknown`,
  ORDER,
  `${PLATFORM}/orders/1`,
]
  .map((path): Row => ['§7', 'a path of nothing', 404, 'GET', path])
  .concat(['0', '1.5', '9'.repeat(20)].map((id): Row => ['§7', 'a user who is none', 404, 'DELETE', `${USERS}/${id}`]));

const TYPES: readonly Row[] = [
  ['§1', 'text', 415, 'POST', ITEMS, typed('text/plain'), TAKES_JSON],
  ['§1', 'a form', 415, 'POST', BATCH, typed('application/x-www-form-urlencoded'), TAKES_JSON],
  ['§1', 'no type', 415, 'POST', ITEMS, typed(''), TAKES_JSON],
  ['§1', 'UTF-16', 415, 'POST', ITEMS, typed('application/json; charset=utf-16'), SEND_UTF8],
  ...['zstd', 'compress', 'gzip, br', 'gzip, gzip', 'gzip;q=1', '*'].map(
    (coding): Row => ['RFC 9110 §12.5.3', `the coding ${coding}`, 415, 'POST', ITEMS, coded(coding), READ_CODINGS],
  ),
];

const BODIES: readonly Row[] = [
  ['§7', 'nothing', 400, 'POST', ITEMS, raw('')],
  ['§7', 'NaN', 400, 'POST', ITEMS, raw('{"net_weight":NaN}'), NOT_JSON],
  ['§7', 'bytes that are no UTF-8', 400, 'POST', ITEMS, raw(Buffer.from([0x7b, 0xff, 0xfe, 0x7d]))],
  ['§7', 'two objects', 400, 'POST', ITEMS, raw('{}{}'), NOT_JSON],
  ['§7', 'a comment', 400, 'POST', ITEMS, raw('{}//'), NOT_JSON],
  ['§7', 'a gzip that is cut', 400, 'POST', ITEMS, coded('gzip', gzipSync(ITEM).subarray(0, 20))],
  ['§7', 'a gzip that is none', 400, 'POST', ITEMS, coded('gzip', Buffer.from(ITEM))],
  ['RFC 8259 §8.1', 'a mark twice', 400, 'POST', ITEMS, raw(`${MARK}${MARK}{}`), NOT_JSON],
  ['RFC 8259 §8.1', 'a mark alone', 400, 'POST', ITEMS, raw(MARK)],
  ['RFC 8259 §8.1', 'a mark within', 400, 'POST', ITEMS, raw(`{${MARK}}`), NOT_JSON],
  ['RFC 8259 §4', 'a name twice', 400, 'PUT', ONE, raw('{"name":"a","name":"b"}'), TWICE],
  ['RFC 8259 §4', 'one escaped', 400, 'POST', CLEAN_UP, raw('{"batch_id":"a","\\u0062atch_id":1}'), TWICE],
  ['RFC 8259 §4', 'of an item', 400, 'POST', BATCH, raw('{"items":[{},{"a":1,"a":2}]}'), TWICE],
  ['RFC 8259 §4', 'deep within', 400, 'POST', WEBHOOKS, webhookWith('{"a":{"b":1,"b":2}}'), TWICE],
  ['§8', '5 MB', 413, 'POST', BATCH, () => raw(`{"items":["${'x'.repeat(5_000_000)}"]}`), '4194304 bytes'],
  ['§5.4', '5 MB of a stranger', 401, 'POST', BATCH, () => ({ raw: ' '.repeat(5_000_000), token: null })],
];

const VALUES: readonly Row[] = [
  ['§4.7', 'no items', 422, 'POST', BATCH, body({ items: [] }), ['items']],
  ['§4.7', 'no item', 422, 'POST', BATCH, body({ items: [7] }), ['items.0']],
  ['§4.7', 'no list', 422, 'POST', BATCH, body({ items: {} }), ['items']],
  ['§4.8', 'no batch id', 422, 'POST', CLEAN_UP, body({}), ['batch_id']],
  ['§4.8', 'a number', 422, 'POST', CLEAN_UP, body({ batch_id: 1 }), ['batch_id']],
  ['§4.8', '256 characters', 422, 'POST', CLEAN_UP, body({ batch_id: 'x'.repeat(256) }), ['batch_id']],
  ['§4.8', 'another name', 422, 'POST', CLEAN_UP, body({ _batch_id: 'a' }), ['_batch_id', 'batch_id']],
  [
    '§4.8',
    'half a percent',
    422,
    'PUT',
    SETTINGS,
    body({ clean_up_guard: { max_percent: 1.5, min_records: -1 } }),
    ['clean_up_guard.max_percent', 'clean_up_guard.min_records'],
  ],
  ['§4.9', '65 KB', 422, 'POST', ORDERS, body({ error_reason: Array(10).fill('x'.repeat(6_560)) }), ['error_reason']],
  ['§5.1', 'no name', 422, 'POST', CLIENTS, body({ scopes: ['read:all'], secret: 1 }), ['name', 'scopes.0', 'secret']],
  ['§6.2', 'a plain URL', 422, 'POST', WEBHOOKS, body({ url: 'http://127.0.0.1:9/' }), ['url']],
  ['§6.1', '20 digits', 422, 'POST', WEBHOOKS, webhookWith('{"a":12345678901234567890}'), ['body']],
  ['§6.1', '1e400', 422, 'POST', WEBHOOKS, webhookWith('{"a":{"b":[1e400]}}'), ['body']],
  [
    '§8',
    'a rate of 0',
    422,
    'PUT',
    SETTINGS,
    body({ rate_limit: { per_second: 0, burst: -1 } }),
    ['rate_limit.burst', 'rate_limit.per_second'],
  ],
  [
    '§8',
    'texts',
    422,
    'PUT',
    SETTINGS,
    body({ rate_limit: { per_second: '1', burst: 1.5, day: 1 } }),
    ['rate_limit.burst', 'rate_limit.day', 'rate_limit.per_second'],
  ],
  ['§7', 'a sign-in', 422, 'POST', SESSION, { body: { email: 7, x: 1 }, token: null }, ['email', 'password', 'x']],
  ['§7', 'a long address', 422, 'POST', USERS, body({ ...USER, email: `a@${'a.'.repeat(1e5)}nl` }), ['email']],
];

const QUERIES: readonly Row[] = [
  ['§4.3', 'page 0', 400, 'GET', ITEMS, asked('page=0'), 'page'],
  ['§4.3', 'a field of every object', 400, 'GET', ITEMS, asked('filter[toString]=x'), '"toString"'],
  ['§4.3', 'SQL', 400, 'GET', ITEMS, { query: { 'filter[name" OR 1=1]': 'x' } }],
  ...['description', 'id', '_batch_id', '', '--name', 'name desc'].map(
    (sort): Row => ['§4.3', `a sort by "${sort}"`, 400, 'GET', ITEMS, { query: { sort } }],
  ),
  ['§4.3', 'an empty filter', 400, 'GET', ITEMS, asked('filter[name]='), 'filter[name]'],
  ...['filter[name]=,,', 'filter[name]=a%00b', 'filter[description]=a', 'filter[_batch_id]=a'].map(
    (query): Row => ['§4.3', query, 400, 'GET', ITEMS, asked(query)],
  ),
  ['§4.3', 'an unknown operator', 400, 'GET', ITEMS, asked('filter[name][like]=a'), 'known ones are eq, ne,'],
  ['§4.3', 'a malformed filter', 400, 'GET', ITEMS, asked('filter[name]x=y')],
  ...[
    ['POST', BATCH, 'dryRun', 'dry_run'],
    ['POST', CLEAN_UP, 'dryrun', 'dry_run'],
    ['GET', ITEMS, 'per_page', 'page, perPage'],
    ['GET', `${PLATFORM}/orders`, 'sear', 'search, page'],
  ].map(
    ([method = '', path = '', name = '', known]): Row => [
      'decision: parameters',
      `the parameter ${name}`,
      400,
      method,
      path,
      { query: { [name]: '1' } },
      `Unknown parameter ${name}; there are ${known}`,
    ],
  ),
  ...['__proto__', 'constructor', 'x'.repeat(5_000), ''].map(
    (name): Row => ['decision: parameters', 'a strange parameter', 400, 'GET', ITEMS, { query: { [name]: '1' } }],
  ),
];

/** Header fields that promise something, where the operation does not keep it. */
const PROMISES: readonly Row[] = (
  [
    ['If-Match', '"1"', 'POST', ITEMS],
    ['If-Match', '*', 'POST', BATCH],
    ['If-Match', '"1"', 'POST', `${ORDER}/approve`],
    ['If-Match', '"1"', 'GET', ITEMS],
    ['Idempotency-Key', 'k-1', 'PUT', ONE],
    ['Idempotency-Key', 'k-1', 'POST', `${ORDER}/reject`],
    ['Idempotency-Key', 'k-1', 'POST', WEBHOOKS],
    ['Idempotency-Key', 'k-1', 'POST', `${ASSETS}/dyn_item/syncs`],
  ] as const
).map(([name, value, method, path]) => [
  'RFC 9110 §13.1',
  `${name}: ${value}`,
  400,
  method,
  path,
  promised(name, value, method === 'GET' ? {} : body({})),
  withoutEffect(name, method),
]);

const BROWSER = { headers: { accept: 'text/html,application/xhtml+xml' } };
const by = (headers: { readonly [name: string]: string }): RequestOptions => ({ token: null, headers });
const STRANGER = { 'www-authenticate': 'Bearer realm="dynamic-assets"' };
const CALLERS: readonly Row[] = [
  ['§7', 'a browser that asks for HTML', 404, 'GET', '/nothing', { ...BROWSER, token: null }],
  ['§7', 'a browser without a token', 401, 'GET', ITEMS, { ...BROWSER, token: null }],
  ['§7', 'a browser with a wrong body', 400, 'POST', ITEMS, { ...BROWSER, raw: '{' }],
  ['§5.4', 'Basic in place of Bearer', 401, 'GET', ITEMS, by({ authorization: 'Basic YWJjOmRlZg==' }), STRANGER],
  ['§5.4', 'an empty Bearer', 401, 'GET', ITEMS, by({ authorization: 'Bearer' }), STRANGER],
  ['§5.4', 'two tokens', 401, 'GET', ITEMS, by({ authorization: 'Bearer a b' })],
  ['§5.4', 'a stranger with a parameter', 401, 'GET', ITEMS, { query: 'nonsense=1', token: null }, STRANGER],
  ['§5', 'no session', 401, 'POST', USERS, by({ cookie: 'da_session=nobody' })],
  ['§5', 'no session, no body', 401, 'DELETE', `${PLATFORM}/users/1`, by({ cookie: 'da_session=nobody' })],
];

const INSTEAD: readonly Row[] = [
  [
    '§7',
    'an unknown table',
    404,
    'GET',
    `${ASSETS}/x/info`,
    {},
    'no table x; there are dyn_stock_order, dyn_order_line, dyn',
  ],
  [
    '§4.3',
    'an unknown field',
    400,
    'GET',
    ITEMS,
    asked('filter[price]=x'),
    '"price"; it can be by external_id, name, ',
  ],
  ['§4.3', 'a part of a time', 400, 'GET', ITEMS, asked('filter[created_at]=2026'), 'filter[created_at][gte].'],
  ['§4.3', 'a sort by nothing', 400, 'GET', ITEMS, asked('sort=x'), '"x"; it can be by created_at, updated_at, '],
  ['§4.8', 'DELETE of a record', 405, 'DELETE', ONE, {}, 'DELETE is not allowed here, which takes GET, HEAD, PUT.'],
  ['§4.8', 'one with a parameter', 405, 'DELETE', ONE, asked('at='), 'DELETE is not allowed here'],
  ['§4.8', 'OPTIONS of a record', 405, 'OPTIONS', ONE, {}, 'OPTIONS is not allowed here, which takes GET, HEAD, PUT.'],
  ['§4.6', 'PUT to the list', 405, 'PUT', ITEMS, body({}), 'PUT is not allowed here, which takes GET, HEAD, POST.'],
  ['§4.7', 'a batch of orders', 400, 'POST', `${ORDERS}/batch`, body({ items: [{}] }), 'Write one record by POST'],
  ['§4.8', 'changes of orders', 400, 'GET', `${ASSETS}/dyn_stock_order/changes`, {}, 'come by webhooks.'],
];

describe.each([
  ['limits', LIMITS],
  ['paths', PATHS],
  ['types and codings of a body', TYPES],
  ['bodies', BODIES],
  ['values', VALUES],
  ['queries', QUERIES],
  ['promises', PROMISES],
  ['callers', CALLERS],
  ['what to do instead', INSTEAD],
] as const)('%s', (_of, rows) => {
  for (const [cites, what, status, method, path, sent = {}, says = ''] of rows)
    it(`${cites}: ${what} is ${status} at ${method} ${path}`, async () => {
      const options = typeof sent === 'function' ? sent() : sent;
      const token = options.token === undefined ? await acme().tokenFor(path) : options.token;
      const answer = await expectRefused(service(), status, () => acme().send(method, path, { ...options, token }));
      if (typeof says === 'string') expect(String(Reflect.get(Object(answer.body), 'error'))).toContain(says);
      else if (isFields(says)) expect([...fieldErrors(answer).keys()].sort()).toEqual(says);
      else expect(answer.headers).toMatchObject(says);
      // Nothing of the inside, and no more than the request was worth.
      expect(answer.text).not.toMatch(/node_modules|at \w+ \(|SQLITE|SELECT|\.js:/);
      expect(answer.text.length).toBeLessThan(20_000);
      expect(answer.headers['x-powered-by']).toBeUndefined();
      // A request that was not read has no other line.
      if (status === 431) return;
      const id = expect.stringMatching(/^[\da-f-]{36}$/);
      expect(answer.headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'x-request-id': id });
    });
});

/** Requests as bytes, few of them as they should be: targets, methods, versions, header fields, and bodies that are nearly JSON. */
import fc from 'fast-check';
import type { RawCase } from './rawConnection.js';

const ASSETS = '/api/v1/dynamic-assets/dyn';
const PLATFORM = '/api/v1/platform';
const ID = '019aa4a5-3d51-7c3e-9d2f-6b1c0a8e4f10';

const READ = [
  ASSETS,
  `${ASSETS}/dyn_item/info`,
  `${ASSETS}/dyn_item/assets?perPage=25&sort=name`,
  `${ASSETS}/dyn_item/assets/${ID}`,
  '/health/ready',
  '/openapi.json',
];
const WRITTEN = [
  `POST ${ASSETS}/dyn_item/assets`,
  `POST ${ASSETS}/dyn_item/assets/batch`,
  `POST ${ASSETS}/dyn_item/assets/clean-up`,
  `POST ${ASSETS}/dyn_stock_order/assets`,
  `PUT ${ASSETS}/dyn_item/assets/${ID}`,
  ...['users', 'api-clients', 'asset-types', 'webhooks', 'session'].map((name) => `POST ${PLATFORM}/${name}`),
  'POST /oauth/token',
];

const sizes = fc.constantFrom(1, 100, 8000, 17_000, 300_000);
const repeated = (text: string): fc.Arbitrary<string> => sizes.map((size) => text.repeat(size / text.length + 1));

const targets = fc.oneof(
  fc.constantFrom('*', '//', '/.', '/%', '/%00', '/%C0%AE%C0%AE/', '/a b', '', '/?%', '/%2e%2e/%2e%2e', 'https:///x'),
  fc.constantFrom('http://acme.localhost:1@evil.example/', 'evil.example:80', `/${'../'.repeat(2000)}`),
  fc
    .tuple(
      fc.constantFrom(...READ),
      fc.constantFrom('%', '%ff', '%2f', '?filter[name]=%', `?${'a=b&'.repeat(3000)}`, '?page=1&page=2'),
    )
    .map(([path, end]) => path + end),
  repeated('a').map((text) => `/${text}`),
  fc.uint8Array({ minLength: 1, maxLength: 30 }).map((code) => `/${Buffer.from(code).toString('latin1')}`),
);
const methods = fc.constantFrom(
  ...['GET', 'HEAD', 'POST', 'OPTIONS', 'TRACE', 'CONNECT', 'PATCH', 'DELETE', 'PRI', 'PROPFIND', 'get', 'X'],
  ...['GET\t', '', 'G\0T', 'A'.repeat(20_000)],
);
const versions = fc.constantFrom(
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/0.9',
  'HTTP/2.0',
  'http/1.1',
  'RTSP/1.0',
  'HTTP/1.1 ',
  '',
);
const strangeHeaders: fc.Arbitrary<readonly string[]> = fc.oneof(
  sizes.map((size) => Array.from({ length: size / 60 }, (_, nth) => `X-${nth}: ${nth}`)),
  repeated('x').map((text) => [`X-Long: ${text}`]),
  repeated('X').map((text) => [`${text}: long`]),
  repeated('e.').map((text) => [`Authorization: Bearer ${text}`]),
  repeated('1.1.1.1,').map((text) => [`X-Forwarded-For: ${text}`]),
  fc.constantFrom<readonly string[]>(
    ['X-A: a\0b'],
    ['X-A: a\rb'],
    ['X-A : b'],
    [': b'],
    ['X-A: 1', ' folded: 2'],
    ['Authorization: Bearer a', 'Authorization: Bearer b'],
    ['Expect: 100-continue'],
    ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: eA==', 'Sec-WebSocket-Version: 13'],
    ['Accept-Encoding: gzip;q=abc', 'Accept: */*;q=2', 'Range: bytes=0-0,-1', 'If-None-Match: *'],
    ['Content-Length: 5'],
    ['Content-Length: -1'],
    ['Transfer-Encoding: chunked', 'Content-Length: 5'],
    ['Transfer-Encoding: xchunked'],
  ),
);

const values: fc.Arbitrary<string> = fc.oneof(
  fc.json({ maxDepth: 3 }),
  fc.constantFrom('1e1000000', '0.1e-5000', '9'.repeat(400), 'NaN', '"\\ud800"', '"\u0000"', '{"a":1,"a":2}'),
  fc.constantFrom('{"__proto__":{"polluted":1}}', '{"constructor":{"prototype":{"polluted":1}}}'),
  ...['1', '"', '\\"', '[', '{"a":', '0,'].map(repeated),
  repeated('0,').map((zeros) => `[${zeros}0]`),
  repeated('a').map((text) => `"${text}`),
  repeated('[').map((open) => `${open}${']'.repeat(open.length)}`),
  sizes.map((size) => `{${Array.from({ length: size / 6 }, (_, nth) => `"k${nth}":${nth}`).join()}}`),
);
/** Fields that requests have, so that a value gets as far as it can. */
const fields = fc.constantFrom('external_id', 'items', 'roles', 'grant_type', 'custom_data', 'lines', 'email');
const inAField = fc.tuple(fields, values).map(([field, value]) => `{"${field}":${value}}`);
const almostJson: fc.Arbitrary<Buffer> = fc.oneof(
  inAField.map((text) => Buffer.from(text)),
  values.map((text) => Buffer.from(text)),
  fc.tuple(inAField, fc.nat(400)).map(([text, end]) => Buffer.from(text.slice(0, end))),
  inAField.map((text) => Buffer.from(text, 'utf16le')),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
);

/** All kinds of requests for a tenant that has these tokens. */
export function rawCases(host: string, clientToken: string, adminToken: string): fc.Arbitrary<RawCase> {
  const usual = (path: string): readonly string[] => [
    `Host: ${host}`,
    ...(path === '/oauth/token'
      ? []
      : [`Authorization: Bearer ${path.startsWith(PLATFORM) ? adminToken : clientToken}`]),
  ];
  const head = (first: string, headers: readonly string[]): Buffer =>
    Buffer.from([first, ...headers, '', ''].join('\r\n'), 'latin1');
  const written = fc.tuple(fc.constantFrom(...WRITTEN), almostJson).map(([operation, body]) => {
    const headers = [...usual(operation.split(' ')[1] ?? ''), 'Content-Type: application/json'];
    return Buffer.concat([head(`${operation} HTTP/1.1`, [...headers, `Content-Length: ${body.length}`]), body]);
  });
  const read = fc.constantFrom(...READ);
  const weighted = (weight: number, arbitrary: fc.Arbitrary<RawCase>) => ({ weight, arbitrary });
  return fc.oneof(
    weighted(
      6,
      written.map((bytes) => ({ name: 'almost JSON', bytes })),
    ),
    weighted(
      4,
      targets.map((target) => ({ name: 'target', bytes: head(`GET ${target} HTTP/1.1`, usual('/')) })),
    ),
    weighted(
      2,
      fc
        .tuple(methods, read, versions)
        .map(([method, path, version]) => ({ name: 'line', bytes: head(`${method} ${path} ${version}`, usual(path)) })),
    ),
    weighted(
      4,
      fc.tuple(strangeHeaders, read).map(([headers, path]) => ({
        name: 'headers',
        bytes: head(`GET ${path} HTTP/1.1`, [...headers, ...usual(path)]),
      })),
    ),
    weighted(
      3,
      fc
        .tuple(written, fc.nat())
        .map(([bytes, cut]) => ({ name: 'cut', bytes: bytes.subarray(0, cut % bytes.length), isCut: true })),
    ),
  );
}

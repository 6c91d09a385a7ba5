/** What the head of a request is made of: targets, methods, versions, hosts and header fields, few of them as they should be. */
import fc from 'fast-check';
import type { Header } from './rawBodies.js';

const ASSETS = '/api/v1/dynamic-assets/dyn';
export const PLATFORM = '/api/v1/platform';
const ID = '019aa4a5-3d51-7c3e-9d2f-6b1c0a8e4f10';

export const READ = [
  `${ASSETS}`,
  `${ASSETS}/dyn_item/info`,
  `${ASSETS}/dyn_item/assets?perPage=25&sort=name`,
  `${ASSETS}/dyn_item/assets/${ID}`,
  '/health/ready',
  '/openapi.json',
];
export const WRITTEN = [
  `POST ${ASSETS}/dyn_item/assets`,
  `POST ${ASSETS}/dyn_item/assets/batch`,
  `POST ${ASSETS}/dyn_item/assets/clean-up`,
  `POST ${ASSETS}/dyn_stock_order/assets`,
  `PUT ${ASSETS}/dyn_item/assets/${ID}`,
  `POST ${PLATFORM}/users`,
  `POST ${PLATFORM}/api-clients`,
  `POST ${PLATFORM}/asset-types`,
  `POST ${PLATFORM}/webhooks`,
  `POST ${PLATFORM}/session`,
  'POST /oauth/token',
];

const counts = fc.constantFrom(1, 10, 100, 1900, 5000);
const sizes = fc.constantFrom(100, 8000, 16_000, 17_000, 100_000, 1_000_000);

export const targets = fc.oneof(
  fc.constantFrom(
    '*',
    '//',
    '/.',
    '/%',
    '/%00',
    '/%C0%AE%C0%AE/',
    '/a b',
    '',
    '/?%',
    '/%2e%2e/%2e%2e',
    'http://acme.localhost:1@evil.example/',
    'https:///x',
    'evil.example:80',
    `/${'../'.repeat(2000)}`,
  ),
  fc
    .tuple(
      fc.constantFrom(...READ),
      fc.constantFrom(
        '%',
        '%ff',
        '%2f',
        '?',
        '?filter[name]=%',
        `?${'a=b&'.repeat(3000)}`,
        '?page=1&page=2',
        `?filter[name]=${'%41'.repeat(4000)}`,
      ),
    )
    .map(([path, end]) => path + end),
  sizes.map((size) => `/${'a'.repeat(size)}`),
  fc.uint8Array({ minLength: 1, maxLength: 30 }).map((code) => `/${Buffer.from(code).toString('latin1')}`),
);

export const methods = fc.constantFrom(
  ...['GET', 'HEAD', 'POST', 'OPTIONS', 'TRACE', 'CONNECT', 'PATCH', 'DELETE', 'PRI', 'PROPFIND', 'get', 'X'],
  ...['GET\t', '', 'M-SEARCH', 'G\0T', 'A'.repeat(20_000)],
);
export const versions = fc.constantFrom(
  ...['HTTP/1.1', 'HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', 'HTTP/9.9', 'HTTP/1.10', 'http/1.1', 'RTSP/1.0'],
  ...['HTTP/1.1 ', '', 'HTTP/'],
);

export const strangeHeaders: fc.Arbitrary<readonly Header[]> = fc.oneof(
  counts.map((count) => Array.from({ length: count }, (_, nth) => `X-${nth}: ${nth}`)),
  counts.map((count) => Array.from({ length: count }, () => 'Cookie: session=x')),
  sizes.map((size) => [`X-Long: ${'x'.repeat(size)}`]),
  sizes.map((size) => [`${'X'.repeat(size)}: long`]),
  sizes.map((size) => [`Authorization: Bearer ${'e.'.repeat(size / 2)}`]),
  sizes.map((size) => [`X-Forwarded-For: ${'1.1.1.1,'.repeat(size / 8)}`]),
  fc.constantFrom<readonly Header[]>(
    ['X-A: a\0b'],
    ['X-A: a\rb'],
    ['X-A: \x01\x1f\x7f'],
    ['X-A : b'],
    [' X-A: b'],
    [': b'],
    ['X-A: 1', ' folded: 2'],
    ['Authorization: Bearer a', 'Authorization: Bearer b'],
    ['Content-Type: application/json', 'Content-Type: text/plain'],
    ['Expect: 100-continue'],
    ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: eA==', 'Sec-WebSocket-Version: 13'],
    ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAAA'],
    ['Accept-Encoding: gzip;q=abc', 'Accept: */*;q=2', 'Range: bytes=0-0,-1', 'If-None-Match: *'],
    [Buffer.from('X-A: é😀')],
  ),
);

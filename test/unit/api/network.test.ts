import type { Request } from 'express';
import { addressOfRequest, isFromThisMachine, networkOfRequest } from '#app/api/senderAddress.js';

const PROXY = '10.0.0.9';
const from = (ip: string, remoteAddress: string | undefined = PROXY) =>
  ({ ip, socket: { remoteAddress } }) as Pick<Request, 'ip' | 'socket'>;

test.each<readonly [text: string, address: string, network: string]>([
  ['203.0.113.8', '203.0.113.8', '203.0.113.8'],
  ['203.0.113.8:40000', '203.0.113.8', '203.0.113.8'],
  ['::ffff:203.0.113.8', '203.0.113.8', '203.0.113.8'],
  ['[::FFFF:cb00:7108]:443', '203.0.113.8', '203.0.113.8'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0DB8:1:2::00ff', '2001:db8:1:2::ff', '2001:db8:1:2::/64'],
  ['[2001:db8:1:3::1]', '2001:db8:1:3::1', '2001:db8:1:3::/64'],
  ['::1', '::1', '0:0:0:0::/64'],
  // No address: that of the proxy counts.
  ...['', 'unknown', '_hidden:40000', '203.0.113', '203.0.113.256', '[::g]', '1'.repeat(5_000)].map(
    (text) => [text, PROXY, PROXY] as const,
  ),
])('a proxy that says %j means %s of the network %s', (text, address, network) => {
  expect(addressOfRequest(from(text))).toBe(address);
  expect(networkOfRequest(from(text))).toBe(network);
});

it('a connection that has ended is of no known network', () => {
  expect(networkOfRequest({ ...from(''), socket: {} } as Parameters<typeof networkOfRequest>[0])).toBe('unknown');
});

test.each([
  ['127.0.0.1', {}, true],
  ['::1', {}, true],
  ['::ffff:127.0.0.1', {}, true],
  ['192.0.2.1', {}, false],
  ['::ffff:192.0.2.1', {}, false],
  [undefined, {}, false],
  ['127.0.0.1', { 'x-forwarded-for': '127.0.0.1' }, false],
  ['127.0.0.1', { forwarded: 'for=127.0.0.1' }, false],
])('a connection from %s with the fields %j comes from this machine: %s', (remoteAddress, headers, expected) => {
  const request = { socket: { remoteAddress }, headers } as Parameters<typeof isFromThisMachine>[0];
  expect(isFromThisMachine(request)).toBe(expected);
});

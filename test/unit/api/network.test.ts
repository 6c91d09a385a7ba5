import { isFromThisMachine, networkOf } from '#app/api/tenantHost.js';

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::ff', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::1', '2001:db8:1:2::/64'],
  ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['', ''],
  ['x'.repeat(5_000), 'x'.repeat(64)],
])('the network of %s is %s', (address, network) => expect(networkOf(address)).toBe(network));

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

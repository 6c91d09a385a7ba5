import type { LookupAddress } from 'node:dns';
import { webhookBody } from '#app/commands/webhooks/settings.js';
import { createHttpsTransport } from '#app/webhooks/httpsTransport.js';
import type { LookUpAll } from '#app/webhooks/receiverLookup.js';
import { addressPolicy, checkedLookup, checkLiteral, createTargetCheck } from '#app/webhooks/targetAddress.js';

const HTTPS = 443;
const strict = addressPolicy([]);

const REFUSED = `
  127.0.0.1 127.8.8.8 0.0.0.0 0.1.2.3 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1
  100.100.100.200 192.0.0.192 192.0.2.1 192.88.99.1 198.51.100.1 203.0.113.1 198.18.0.1 224.0.0.1 240.0.0.1
  255.255.255.255 168.63.129.16 :: ::1 fe80::1 fe80::1%eth0 fc00::1 fd00:ec2::254 fec0::1 ff02::1
  2001:db8::1 3fff::1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:169.254.169.254 ::ffff:0:127.0.0.1
  ::ffff:8.8.8.8 ::127.0.0.1 64:ff9b::7f00:1 64:ff9b::8.8.8.8 64:ff9b:1::1 2002:7f00:1:: 2002:808:808::1
  2001::1 2620:4f:8000::1 5f00::1 100::1 localhost
`
  .trim()
  .split(/\s+/);

const DISGUISED = `
  https://0x7f.1/ https://0x7f000001/ https://0177.0.0.1/ https://127.0.0.1./ https://0.0.0.0/ https://[::]/
  https://[64:ff9b::7f00:1]/ https://[::ffff:169.254.169.254]/ https://2852039166/ https://0xa9fea9fe/
  https://127.0.0.1%2e/ https://017700000001/ https://2130706433/ https://127.1/ https://0/
  https://[::ffff:127.0.0.1]/ https://[::ffff:7f00:1]/ https://[::1]/ https://[fe80::1]/ https://[fc00::1]/
  https://169.254.169.254/latest/meta-data/ https://100.64.0.1/ https://127。0。0。1/ https://①②⑦.0.0.1/
`
  .trim()
  .split(/\s+/);

describe('addresses of receivers', () => {
  test.each(['', ...REFUSED])('%s is refused', (address) => expect(strict(address, HTTPS)).toEqual(expect.any(String)));

  test.each(['8.8.8.8', '1.1.1.1', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00:1450:4001::1'])(
    '%s may be used',
    (address) => expect(strict(address, HTTPS)).toBeUndefined(),
  );

  test('networks that the operator allows may be used, others stay refused', () => {
    const policy = addressPolicy(['127.0.0.0/8', '10.1.0.0/16', 'fd00::/8']);
    for (const address of ['127.0.0.1', '10.1.2.3', 'fd12::1', '::ffff:10.1.2.3', '8.8.8.8']) {
      expect(policy(address, HTTPS)).toBeUndefined();
    }
    for (const address of ['10.2.0.1', '::1', '169.254.169.254', '::ffff:10.2.0.1', '64:ff9b::7f00:1']) {
      expect(policy(address, HTTPS)).toEqual(expect.any(String));
    }
  });

  test('public addresses may be used on the allowed ports, allowed networks on any', () => {
    const policy = addressPolicy(['10.1.0.0/16'], [443, 8443]);
    for (const port of [443, 8443]) expect(policy('8.8.8.8', port)).toBeUndefined();
    for (const port of [22, 80, 5432, 9200]) {
      expect(policy('8.8.8.8', port)).toMatch('on port 443 or 8443 only');
      expect(policy('2606:4700::1111', port)).toMatch('on port 443 or 8443 only');
      expect(policy('10.1.2.3', port)).toBeUndefined();
      expect(policy('10.2.0.1', port)).toMatch('not a public address');
    }
  });

  test.each(DISGUISED)('%s is seen through', async (url) => {
    expect(() => checkLiteral(strict, new URL(url).hostname, HTTPS)).toThrow('refused');
    expect(await createTargetCheck(strict, never)(url)).toMatch(/^must lead to a public address/);
  });

  test.each([
    'https://8.8.8.8@127.0.0.1/',
    'https://erp.example.com:x@10.0.0.1/',
    'https://user@erp.example.com/',
    'https://[fe80::1%25eth0]/',
    'https://127.0.0.256/',
    'http://8.8.8.8/',
    'file:///etc/passwd',
  ])('%s is none that a webhook may have', (url) =>
    expect(webhookBody.safeParse({ url }).error?.issues).toMatchObject([
      { message: expect.stringMatching(/^must be an HTTPS/) },
    ]),
  );
});

const never: LookUpAll = () => {
  throw new Error('An address is not looked up.');
};

/** A name server that gives these answers in turn. */
const answers =
  (...turns: string[][]): LookUpAll =>
  async () =>
    (turns.shift() ?? []).map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 }));

const resolved = (lookUp: LookUpAll, all: boolean): Promise<unknown> =>
  new Promise((resolve, reject) => {
    checkedLookup(strict, HTTPS, lookUp)('erp.example.com', { all }, (error, address, family) => {
      if (error === null) resolve(all ? address : { address, family });
      else reject(error);
    });
  });

describe('names of receivers', () => {
  test('only addresses that may be used are answered to the connection', async () => {
    const mixed = ['10.0.0.1', '8.8.8.8', '::1', '2606:4700::1111'];
    expect(await resolved(answers(mixed), true)).toEqual([
      { address: '8.8.8.8', family: 4 },
      { address: '2606:4700::1111', family: 6 },
    ]);
    expect(await resolved(answers(mixed), false)).toEqual({ address: '8.8.8.8', family: 4 });
    await expect(resolved(answers(['10.0.0.1', '::1']), true)).rejects.toThrow('10.0.0.1 is not a public address');
    await expect(resolved(answers([]), true)).rejects.toThrow('no address');
  });

  test('a name that changes its addresses is checked at each lookup', async () => {
    const lookUp = answers(['8.8.8.8'], ['127.0.0.1'], ['8.8.8.8']);
    expect(await resolved(lookUp, true)).toEqual([{ address: '8.8.8.8', family: 4 }]);
    await expect(resolved(lookUp, true)).rejects.toThrow('127.0.0.1 is not a public address');
    expect(await resolved(lookUp, true)).toEqual([{ address: '8.8.8.8', family: 4 }]);
  });
});

describe('a call', () => {
  test.each([
    ['an address', 'https://8.8.8.8:22/', never],
    ['a name', 'https://erp.example.com:22/', answers(['8.8.8.8', '2606:4700::1111'])],
  ])('to a port that is not allowed is refused before a connection is made: %s', async (_what, url, lookUp) => {
    const transport = createHttpsTransport({ policy: addressPolicy(['10.0.0.0/8'], [443, 8443]), lookUp });
    const result = await transport.post({ url, headers: {}, body: Buffer.of() });
    expect(result).toMatchObject({ ok: false, status: null, reason: expect.stringContaining('port 443 or 8443 only') });
    await transport.close();
  });
});

/** Names whose servers never answer delay no others. The name server is the test's own, on the loopback address. */
import { createSocket, type Socket } from 'node:dgram';
import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createReceiverLookUp } from '#app/webhooks/receiverLookup.js';

const directory = mkdtempSync(join(tmpdir(), 'receiver-lookup-'));
const hostsFile = join(directory, 'hosts');
writeFileSync(
  hostsFile,
  `# of containers
127.0.0.1\tlocalhost
10.1.2.3   ERP.intern erp # the old one
::7 erp.intern
300.1.1.1 broken.test
`,
);

const [TYPE_A, TYPE_AAAA] = [1, 28];
const NO_SUCH_NAME = 3;

/** Addresses that the server answers, of each family. For other names it never answers. */
const NAMES: { readonly [name: string]: { readonly v4?: string; readonly v6?: string } } = {
  'both.test': { v4: '192.0.2.7', v6: '2001:db8:0:0:0:0:0:7' },
  'four.test': { v4: '192.0.2.4' },
};
/** The name does not exist. */
const GONE = /^short$/;
/** Milliseconds until an IPv4 address is answered. After that, an IPv6 one is waited for shorter than a busy machine may take. */
const V4_MS = 120;

let server: Socket;
let asked: string[];
const resolvers: Resolver[] = [];

beforeAll(async () => {
  server = createSocket('udp4', (question, { port }) => {
    const { name, type, end } = questionIn(question);
    asked.push(name);
    const known = Object.hasOwn(NAMES, name) ? NAMES[name] : undefined;
    const isSilent = known === undefined ? !GONE.test(name) : name === 'four.test' && type === TYPE_AAAA;
    if (isSilent) return;
    const answer = answerTo(question.subarray(0, end), type, known);
    setTimeout(() => server.send(answer, port, '127.0.0.1'), type === TYPE_A ? V4_MS : 0);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.close();
  rmSync(directory, { recursive: true });
});
beforeEach(() => {
  asked = [];
});

/** DNS messages (RFC 1035 §4): twelve bytes of header, the name by its labels, its type and class. */
function questionIn(message: Buffer) {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 };
}

function answerTo(question: Buffer, type: number, known: (typeof NAMES)[string] | undefined): Buffer {
  const header = Buffer.from(question);
  const text = type === TYPE_A ? known?.v4 : known?.v6;
  header.writeUInt16BE(0x8180 | (known === undefined ? NO_SUCH_NAME : 0), 2);
  header.writeUInt16BE(text === undefined ? 0 : 1, 6);
  header.writeUInt16BE(0, 10);
  if (text === undefined) return header;
  const address =
    type === TYPE_A
      ? Buffer.from(text.split('.').map(Number))
      : Buffer.from(
          text.split(':').flatMap((part) => [Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 255]),
        );
  const record = Buffer.alloc(12);
  // The name as in the question; then type, class, time to live and length.
  record.writeUInt16BE(0xc00c, 0);
  record.writeUInt16BE(type, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt16BE(address.length, 10);
  return Buffer.concat([header, record, address]);
}

function open(timeout = 20_000): (hostname: string) => Promise<readonly LookupAddress[]> {
  return createReceiverLookUp(hostsFile, () => {
    const one = new Resolver({ timeout, tries: 1 });
    resolvers.push(one);
    one.setServers([`127.0.0.1:${(server.address() as AddressInfo).port}`]);
    return one;
  });
}

test('the hosts file comes first, and a name in it is not asked for elsewhere', async () => {
  const lookUp = open();
  const both = [
    { address: '10.1.2.3', family: 4 },
    { address: '::7', family: 6 },
  ];
  expect(await lookUp('erp.intern')).toEqual(both);
  expect(await lookUp('ERP.intern')).toEqual(both);
  expect(await lookUp('erp')).toEqual([{ address: '10.1.2.3', family: 4 }]);
  expect(asked).toEqual([]);
});

test('then DNS, both families of addresses, though one of them is never answered', async () => {
  const lookUp = open();
  expect(await lookUp('both.test')).toEqual([
    { address: '192.0.2.7', family: 4 },
    { address: '2001:db8::7', family: 6 },
  ]);
  expect(await lookUp('four.test')).toEqual([{ address: '192.0.2.4', family: 4 }]);
});

test('a name that is not there, and one whose servers are silent, fail with the reason', async () => {
  await expect(open()('short')).rejects.toThrow('was not found in the hosts file nor by DNS (ENOTFOUND)');
  await expect(open(100)('silent.test')).rejects.toThrow('the name servers of silent.test did not answer in time');
});

test('a hundred names that are never answered hold up none that is', async () => {
  const lookUp = open();
  let givenUp = 0;
  const silent = Array.from({ length: 100 }, (_, n) => lookUp(`silent${n}.test`).catch(() => (givenUp += 1)));
  expect(await lookUp('both.test')).toHaveLength(2);
  expect(givenUp).toBe(0);
  for (const resolver of resolvers) resolver.cancel();
  await Promise.all(silent);
  expect(givenUp).toBe(100);
});

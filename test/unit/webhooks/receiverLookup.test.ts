/** Names whose servers never answer hold up no other. The name server is one of our own, on the loopback address. */
import { createSocket, type Socket } from 'node:dgram';
import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createReceiverLookUp, type LookUpAll, type LookUpParts } from '#app/webhooks/receiverLookup.js';

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

/** What the server answers: addresses of each family; undefined never answers, null says that there is no such name. */
const NAMES: { readonly [name: string]: { readonly v4?: string; readonly v6?: string } | null } = {
  'both.test': { v4: '192.0.2.7', v6: '2001:db8:0:0:0:0:0:7' },
  'four.test': { v4: '192.0.2.4' },
  'gone.test': null,
};

let server: Socket;
let asked: string[];

beforeAll(async () => {
  server = createSocket('udp4', (question, { port }) => {
    const { name, type, end } = questionIn(question);
    asked.push(name);
    if (!Object.hasOwn(NAMES, name) || (name === 'four.test' && type === TYPE_AAAA)) return;
    server.send(answerTo(question.subarray(0, end), type, NAMES[name] ?? null), port, '127.0.0.1');
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

function answerTo(question: Buffer, type: number, known: (typeof NAMES)[string]): Buffer {
  const header = Buffer.from(question);
  const text = type === TYPE_A ? known?.v4 : known?.v6;
  header.writeUInt16BE(0x8180 | (known === null ? NO_SUCH_NAME : 0), 2);
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

const notAsked: LookUpAll = () => {
  throw new Error('The system is not asked.');
};

function open(parts: LookUpParts = {}): (hostname: string) => Promise<readonly LookupAddress[]> {
  const resolver = () => {
    const one = new Resolver({ timeout: 300, tries: 1 });
    one.setServers([`127.0.0.1:${(server.address() as AddressInfo).port}`]);
    return one;
  };
  const lookUp = createReceiverLookUp({ hostsFile, resolver, system: notAsked, lookupMs: 400, ...parts });
  return (hostname) =>
    new Promise((resolve, reject) => {
      lookUp(hostname, { all: true }, (error, found) => (error === null ? resolve(found) : reject(error)));
    });
}

test('the hosts file comes first, and a name in it is not asked for elsewhere', async () => {
  const lookUp = open();
  const both = [
    { address: '10.1.2.3', family: 4 },
    { address: '::7', family: 6 },
  ];
  expect(await lookUp('erp.intern')).toEqual(both);
  expect(await lookUp('ERP.intern.')).toEqual(both);
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

test('what DNS does not have the system may know: one name at a time', async () => {
  let [atOnce, most] = [0, 0];
  const system: LookUpAll = (hostname, _options, callback) => {
    atOnce += 1;
    most = Math.max(most, atOnce);
    setTimeout(() => {
      atOnce -= 1;
      callback(null, [{ address: hostname === 'gone.test' ? '10.0.0.9' : '10.0.0.8', family: 4 }]);
    }, 10);
  };
  const lookUp = open({ system });
  const found = await Promise.all(Array.from({ length: 5 }, () => lookUp('gone.test')));
  expect(found).toEqual(Array.from({ length: 5 }, () => [{ address: '10.0.0.9', family: 4 }]));
  expect(most).toBe(1);
});

test('an error of the system is told', async () => {
  const system: LookUpAll = (_hostname, _options, callback) => callback(new Error('getaddrinfo ENOTFOUND'), []);
  await expect(open({ system })('gone.test')).rejects.toThrow('getaddrinfo ENOTFOUND');
});

test('a hundred names that are never answered hold up none that is', async () => {
  const lookUp = open();
  const silent = Array.from({ length: 100 }, (_, n) =>
    lookUp(`silent${n}.test`).catch((error: Error) => error.message),
  );
  expect(await lookUp('both.test')).toHaveLength(2);
  for (const [n, message] of (await Promise.all(silent)).entries()) {
    expect(message).toBe(`the name servers of silent${n}.test did not answer in time`);
  }
});

test('where the system hangs, those that wait for it are told in time, and it is not asked for them later', async () => {
  const hanging: string[] = [];
  let end = (): void => undefined;
  const system: LookUpAll = (hostname, _options, callback) => {
    hanging.push(hostname);
    end = () => callback(null, []);
  };
  const lookUp = open({ system, lookupMs: 100 });
  const both = await Promise.allSettled([lookUp('gone.test'), lookUp('gone.test')]);
  expect(both.map((result) => result.status === 'rejected' && String(result.reason))).toEqual(
    Array.from({ length: 2 }, () => expect.stringContaining('the system did not look up gone.test in time')),
  );
  expect(await lookUp('both.test')).toHaveLength(2);
  end();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(hanging).toEqual(['gone.test']);
});

test('without a hosts file DNS is asked', async () => {
  expect(await open({ hostsFile: join(directory, 'none') })('four.test')).toHaveLength(1);
});

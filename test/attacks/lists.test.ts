/** Lists that cost as much as a list can: what they do to the service, and to another tenant. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import {
  MAX_LONG_TEXT_LENGTH,
  MAX_PAGE_BYTES,
  MAX_READ_BYTES,
  MAX_TENANT_ANSWER_BYTES_IN_FLIGHT,
} from '#app/domain/limits.js';
import type { Answer } from '../acceptance/http.js';
import { expectErrorBody } from '../acceptance/refusals.js';
import { ASSETS } from '../acceptance/tenant.js';
import { useService } from '../acceptance/useService.js';
import { scaled } from '../engines/timeScale.js';

const TIME_LIMIT_MS = scaled(10_000);
/**
 * In which others are answered meanwhile. Generous, as the machine may be busy: without turns they wait for all attackers. The
 * service gives them up later than that, so that it is this limit that tells.
 */
const MEANWHILE_MS = scaled(15_000);
const { acme, service, tenant } = useService({
  tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' },
  env: { REQUEST_TIMEOUT_MS: String(2 * TIME_LIMIT_MS) },
});
const other = () => tenant('other');

const NAME = 'long name '.repeat(25);
/** Of three bytes each. A hundred such texts are more than the system keeps for a connection, and less than a page. */
const STORY = '漢'.repeat(50_000);
const STORY_BYTES = Buffer.byteLength(STORY);

beforeAll(async () => {
  for (let from = 0; from < 20_000; from += 1_000) {
    const items = Array.from({ length: 1_000 }, (_, n) => ({
      external_id: `P${from + n}`,
      name: NAME,
      city_name: NAME,
    }));
    await acme().batch('dyn_party', items);
  }
  await acme().platformData('POST', '/asset-types/dyn_item/fields', { name: 'story', type: 'LongText' });
  for (let from = 0; from <= MAX_PAGE_BYTES / STORY_BYTES; from += 5) {
    await acme().batch(
      'dyn_item',
      Array.from({ length: 5 }, (_, n) => ({ external_id: `I${from + n}`, name: 'Tea', story: STORY })),
    );
  }
  await other().create('dyn_party', { external_id: 'P1', name: 'Other' });
});

const values = (start: string) => Array.from({ length: 90 }, (_, n) => `${start}${n}`).join();
/** Of these values none is found, and each is looked for in each record. */
const WORST = { 'filter[name]': values('e l'), 'filter[city_name]': values('g n'), sort: '-city_name,name' };

const timed = async (ask: () => Promise<unknown>): Promise<number> => {
  const start = performance.now();
  await ask();
  return performance.now() - start;
};

it('§8: a page over 16 MB is 413 and says to ask for fewer; fewer are served', async () => {
  const large = await acme().getList('dyn_item', { perPage: '1000' });
  expect(large.status).toBe(413);
  expectErrorBody(large);
  expect(large.text).toMatch(/Ask for fewer entries with perPage/);
  const { data } = await acme().list('dyn_item', { perPage: '100' });
  expect(data).toHaveLength(100);
});

it(
  "lists as costly as can be: another tenant's lists and writes go on beside them; each ends in time",
  async () => {
    let isOver = false;
    const answers: Answer[] = [];
    const attackers = Array.from({ length: 16 }, async () => {
      while (!isOver) answers.push(await acme().getList('dyn_party', WORST));
    });
    await wait(200);
    const times: number[] = [];
    try {
      for (let n = 0; n < 20; n += 1) {
        times.push(await timed(() => other().list('dyn_party', { 'filter[name]': 'oth', sort: 'name' })));
        times.push(await timed(() => other().batch('dyn_party', [{ external_id: `B${n}`, name: 'Batch' }])));
      }
    } finally {
      isOver = true;
      await Promise.all(attackers);
    }
    expect(times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.9)]).toBeLessThan(MEANWHILE_MS);
    for (const answer of answers) {
      expect([200, 503]).toContain(answer.status);
      if (answer.status === 503) expectTooSlow(answer);
    }
  },
  scaled(180_000),
);

function expectTooSlow(answer: Answer): void {
  expectErrorBody(answer);
  expect(answer.headers['retry-after']).toBe('1');
  expect(answer.text).toMatch(/Filter by values of three or more characters, or ask for less at once/);
}

/** A GET on a connection of its own, of whose answer nothing is read. */
async function silent(path: string): Promise<Socket> {
  const socket = connect(service().port, '127.0.0.1');
  await once(socket, 'connect');
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${acme().host}\r\nAuthorization: Bearer ${await acme().token()}\r\n\r\n`);
  return socket;
}

it('a list whose client has left is no longer searched for', async () => {
  const path = `${ASSETS}/dyn_party/assets?${new URLSearchParams(WORST)}`;
  const sockets = await Promise.all(Array.from({ length: 30 }, () => silent(path)));
  await wait(300);
  for (const socket of sockets) socket.destroy();
  // The threads of this tenant would be busy for 15 times the time limit.
  expect(await timed(() => acme().list('dyn_party'))).toBeLessThan(MEANWHILE_MS);
});

it('answers that nobody takes are bounded: reads are 429 until they are taken, and other tenants notice nothing', async () => {
  const path = `${ASSETS}/dyn_item/assets?perPage=100`;
  const enough = Math.ceil(MAX_TENANT_ANSWER_BYTES_IN_FLIGHT / (100 * STORY_BYTES));
  const sockets: Socket[] = [];
  let answer = await acme().getList('dyn_party');
  // Some take longer than a list may here, where the machine is busy, and so may this one.
  while (answer.status !== 429 && sockets.length < 10 * enough) {
    sockets.push(await silent(path));
    await wait(100);
    answer = await acme().getList('dyn_party');
  }
  expect(sockets.length).toBeGreaterThanOrEqual(enough);
  expect(answer.status).toBe(429);
  expectErrorBody(answer);
  expect((await other().getList('dyn_party')).status).toBe(200);
  // What is written is answered in any case.
  await acme().create('dyn_party', { external_id: 'written', name: 'Written' });
  for (const socket of sockets) socket.destroy();
  while ((await acme().getList('dyn_party')).status === 429) await wait(20);
  expect((await acme().getList('dyn_party')).status).toBe(200);
});

it('a batch that names more than 32 MB of stored records is 413 and says to name fewer; fewer are taken', async () => {
  const description = 'x'.repeat(MAX_LONG_TEXT_LENGTH);
  const named = Array.from({ length: Math.ceil(MAX_READ_BYTES / description.length) }, (_, n) => ({
    external_id: `D${n}`,
    name: 'Tea',
  }));
  for (let from = 0; from < named.length; from += 60)
    await acme().batch(
      'dyn_item',
      named.slice(from, from + 60).map((item) => ({ ...item, description })),
    );
  const refused = await acme().postBatch('dyn_item', { items: named });
  expect(refused.status).toBe(413);
  expectErrorBody(refused);
  expect(refused.text).toContain(`more than ${MAX_READ_BYTES} bytes together. Name fewer at once.`);
  expect(await acme().batch('dyn_item', named.slice(9))).toMatchObject({ unchanged: named.length - 9 });
});

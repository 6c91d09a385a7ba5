/** Costly requests over large data, one at a time: none holds the thread that serves all requests for long. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { MAX_BATCH_ITEMS, MAX_REQUEST_PARTS } from '#app/domain/limits.js';
import type { Answer } from '../acceptance/http.js';
import { party } from '../acceptance/samples.js';
import { ASSETS } from '../acceptance/tenant.js';
import { useService } from '../acceptance/useService.js';
import { scaled } from '../engines/timeScale.js';

/** Milliseconds of processor time in one turn of the event loop: less than 25 on an idle machine in its usual state. */
const LONGEST_TURN_MS = scaled(50);

/** An approval of many more is over the limit of one event. */
const PARTS = 2_000;
/** Orders with the most parts that one request gives, beside the first. */
const SUMMARIZED = 7;
/** Lines that are added to an order at once. */
const AT_ONCE = 50;

let directory: string;
let turns: string;
const run = useService(async () => {
  directory = await mkdtemp(join(tmpdir(), 'turns-'));
  turns = join(directory, 'turns');
  await writeFile(turns, '');
  const probe = pathToFileURL(resolve('test/attacks/longTurns.mjs')).href;
  return {
    tenants: { acme: 'dyn_stock_order' },
    env: { NODE_OPTIONS: `--import ${probe}`, LONG_TURNS: turns },
  };
});
afterAll(() => rm(directory, { recursive: true, force: true }));
const acme = () => run.tenant('acme');

/** The longest turn during the request, and a moment longer: the work may go on. */
async function longestTurn(ask: () => Promise<Answer>, expected: number): Promise<number> {
  await writeFile(turns, '');
  const { status, text } = await ask();
  if (status !== expected) throw new Error(`${status}: ${text.slice(0, 500)}`);
  await wait(50);
  const noted = (await readFile(turns, 'utf8')).split('\n').filter((line) => line !== '');
  return Math.max(0, ...noted.map(Number));
}

const record = z.object({ data: z.looseObject({ id: z.string() }) });
const batch = z.object({ data: z.looseObject({ operation_id: z.string() }) });
const STORIES = Array.from({ length: 13 }, (_, n) => `story_${n}`);
const storied = (text: string) => Object.fromEntries(STORIES.map((name) => [name, text.repeat(65_000)]));
const items = (text: string) =>
  Array.from({ length: MAX_BATCH_ITEMS }, (_, n) => ({
    external_id: `B${n}`,
    name: `Item ${n}`,
    story_0: text.repeat(8_000),
    _batch_id: text,
  }));
const lineIds = Array.from({ length: MAX_REQUEST_PARTS }, () => randomUUID());
const lines = (quantity: number, item: string, unit: string) =>
  lineIds.map((id, n) => ({
    id,
    quantity,
    line_number: n + 1,
    item_id: item,
    unit_code_id: unit,
    description: `${n}`.padEnd(100, 'x'),
  }));

it('no request takes a long turn', async () => {
  for (const name of STORIES) {
    await acme().platformData('POST', '/asset-types/dyn_item/fields', { name, type: 'LongText' });
  }
  const { id: item } = await acme().create('dyn_item', { external_id: 'T', name: 'Tea', story_0: 'x'.repeat(5_000) });
  const { id: unit } = await acme().create('dyn_unit_code', { code: 'PCE', value: 'Piece' });
  await acme().create('dyn_party', party('P'));
  const parties = { buyer_customer_party_id: 'P', accounting_customer_party_id: 'P' };
  const order = { id: randomUUID(), customer_reference: 'PO', delivery_date: '2026-12-01', ...parties };
  const path = `/orders/${order.id}`;
  const found = new Map<string, number>();
  const note = async (name: string, ask: () => Promise<Answer>, expected = 200): Promise<Answer> => {
    let answer: Answer | undefined;
    const kept = async () => {
      answer = await ask();
      return answer;
    };
    found.set(name, Math.max(found.get(name) ?? 0, await longestTurn(kept, expected)));
    if (answer === undefined) throw new Error('There is no answer.');
    return answer;
  };

  await note(
    'create an order',
    () => acme().postRecord('dyn_stock_order', { ...order, lines: lines(1, item, unit) }),
    201,
  );
  const wrong = lineIds.map(() => ({ quantity: 'many', line_number: {}, colour: 'red' }));
  await note('be refused an order', () => acme().postRecord('dyn_stock_order', { lines: wrong }), 422);
  for (const n of [2, 3]) {
    await note('change an order', () => acme().putRecord('dyn_stock_order', order.id, { lines: lines(n, item, unit) }));
    await note('save an order', () => acme().platform('PUT', path, { body: { lines: lines(-n, item, unit) } }));
  }
  for (let n = lineIds.length; n < PARTS; n += AT_ONCE) {
    const more = Array.from({ length: AT_ONCE }, () => ({ order_id: order.id, quantity: -1, item_id: item }));
    await Promise.all(more.map((line) => acme().create('dyn_order_line', line)));
  }
  for (const _ of [1, 2]) {
    await note('see an order', () => acme().platform('GET', path));
    await note('see a history', () => acme().platform('GET', `${path}/history`));
  }
  const many = Array.from({ length: MAX_REQUEST_PARTS }, (_, n) => ({
    quantity: -n,
    item_id: item,
    unit_code_id: unit,
  }));
  for (const _ of Array.from({ length: SUMMARIZED })) await acme().create('dyn_stock_order', { lines: many });
  for (const _ of [1, 2]) {
    await note('list orders with summaries', () =>
      acme().platform('GET', '/orders', { query: { include: 'summary' } }),
    );
  }
  await acme().platform('PUT', path, { body: { processing_status: 'validated' } });
  await note('be refused an approval', () => acme().platform('POST', `${path}/approve`), 422);
  const override = { override: true, reason: 'So be it.' };
  await note('approve an order', () => acme().platform('POST', `${path}/approve`, { body: override }));

  await note('replay an order', () => acme().platform('GET', `${path}/replay`));
  // The tree over the log is made some seconds after the start.
  const exported = () => acme().platform('GET', `${path}/export`);
  while ((await exported()).status === 503) await wait(200);
  await note('export an order', exported);

  const made = await note(
    'create a record',
    () => acme().postRecord('dyn_item', { external_id: 'L', name: 'L', ...storied('a') }),
    201,
  );
  const { id } = record.parse(made.body).data;
  await note('change a record', () => acme().putRecord('dyn_item', id, storied('b')));
  await note('see a record', () => acme().getRecord('dyn_item', id));
  await note('list a record', () => acme().getList('dyn_item', { 'filter[external_id]': 'L' }));

  for (const text of ['a', 'b']) await note('send a batch', () => acme().postBatch('dyn_item', { items: items(text) }));
  const sent = await note('send a batch with a key', () =>
    acme().postBatch('dyn_item', { items: items('c') }, { headers: { 'idempotency-key': 'c' } }),
  );
  const { operation_id: operation } = batch.parse(sent.body).data;
  const table = `${ASSETS}/dyn_item`;
  const refused = items('d').map((item) => ({ ...item, name: 7, colour: 'red' }));
  await note('be refused a batch', () => acme().postBatch('dyn_item', { items: refused }), 422);
  await note('see a batch beforehand', () =>
    acme().send('POST', `${table}/assets/batch`, { query: { dry_run: 'true' }, body: { items: items('d') } }),
  );
  await note('list a page', () => acme().getList('dyn_item', { perPage: '1000' }));
  await note('export a page', () => acme().getList('dyn_item', { perPage: '1000', cursor: '' }));
  await note('see operations', () => acme().getOperations('dyn_item'));
  const start = await acme().send('GET', `${table}/changes`);
  const { next_cursor: after } = z.object({ meta: z.object({ next_cursor: z.string() }) }).parse(start.body).meta;
  await note('see an undo beforehand', () =>
    acme().send('POST', `${table}/operations/${operation}/undo`, { query: { dry_run: 'true' } }),
  );
  await note('undo a batch', () => acme().postUndo('dyn_item', operation));
  await note('see changes', () => acme().send('GET', `${table}/changes`, { query: { after } }));
  await note('see the activity as CSV', () => acme().platform('GET', '/activity.csv'));
  const query = { kind: 'table.batch', limit: '1' };
  const activity = await note('see the activity', () => acme().platform('GET', '/activity', { query }));
  const [entry] = z.object({ data: z.array(z.looseObject({ id: z.string() })) }).parse(activity.body).data;
  await note('see what a batch did', () => acme().platform('GET', `/activity/${entry?.id}/differences`));

  const { data: recent } = await acme().list('dyn_item', { perPage: '25', sort: '-created_at' });
  await note('see the history of a record', () =>
    acme().platform('GET', `/tables/dyn_item/assets/${recent[0]?.id}/history`),
  );

  expect([...found].filter(([, ms]) => ms > LONGEST_TURN_MS)).toEqual([]);
});

/** The tree over the log: the same on each engine, after each restart, and made again where something is missing. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import PQueue from 'p-queue';
import { openSqliteEventStore } from '#app/adapters/eventstore/sqlite/store.js';
import { ContradictionError, keepTree, makeCheckpoint, openCheckpointKeys } from '#app/audit/checkpoints.js';
import { catchUp, type LogTree } from '#app/audit/logTree.js';
import { parseCheckpoint } from '#app/audit/note.js';
import type { EventStore } from '#app/ports/eventStore.js';
import { openTree } from '#app/service/auditTree.js';
import { event, events, storedSlices } from './eventStoreFixtures.js';

let directory: string;
let logs: EventStore[];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tree-'));
  logs = [];
});
afterEach(async () => {
  for (const log of logs) await log.close();
  await rm(directory, { recursive: true });
});

const opened = <Log extends EventStore>(log: Log): Log => {
  logs.push(log);
  return log;
};
const embedded = async (name = 'events.db'): Promise<EventStore> =>
  opened(await openSqliteEventStore({ file: join(directory, name), durability: 'normal' }));

/** Opens the tree, reads the log to its end, and does something. */
async function withTree<T>(log: EventStore, use: (tree: LogTree) => Promise<T> | T, name = 'audit'): Promise<T> {
  const tree = await openTree(log, join(directory, name));
  try {
    await catchUp(log, tree);
    return await use(tree);
  } finally {
    tree.index.close();
  }
}
const rootIn = (log: EventStore, name?: string): Promise<string> =>
  withTree(log, (tree) => `${tree.size} ${tree.root().toString('hex')}`, name);

/** Some 350 events: appends of one, of several, and one that EventStoreDB takes in several calls. */
async function fill(log: EventStore): Promise<void> {
  // Its first event, as in every log that a service has opened.
  await log.identity();
  for (let n = 0; n < 20; n++) await log.append(`order-acme.${n % 7}`, events(1 + (n % 3)), 'any');
  await log.append(
    'table-acme.dyn_item',
    Array.from({ length: 5 }, () => event('é'.repeat(200_000))),
    'no-stream',
  );
  await log.append('order-acme.1', [event({ 10: 'ten', 9: 'nine', n: [1e21, 0.1], text: 'Łódź 🚚 \u0000' })], 'any');
  await log.append('table-acme.dyn_item', events(300), 'any');
}

const PLACES = () => ({ directory: join(directory, 'audit'), published: join(directory, 'elsewhere') });
const keys = () => openCheckpointKeys(join(directory, 'keys'));

test('read at once, in pieces with restarts, or after a crash: the same tree', async () => {
  const log = await embedded();
  await fill(log);
  const root = await rootIn(log);
  // A crash in the middle: tiles are written, and the place is not stored.
  const tree = await openTree(log, join(directory, 'crashed'));
  const ending = new AbortController();
  for await (const slice of log.subscribe({ after: 0, maxCount: 300, signal: ending.signal })) {
    await tree.add(slice);
    if (tree.size > 260) break;
    tree.commit();
  }
  tree.index.close();
  expect(await rootIn(log, 'crashed')).toBe(root);
  const copy = await embedded('grown.db');
  for (const { events: given } of await storedSlices(log, { after: 0, maxCount: 1 })) {
    const [first] = given;
    if (first === undefined) continue;
    await copy.append(first.stream, given, 'any');
    if (given.length === 2) await rootIn(copy, 'pieces');
  }
  expect(await rootIn(copy, 'pieces')).toBe(root);
});

test.each([
  ['a damaged index', () => writeFile(join(directory, 'audit/leaves.db'), 'no database')],
  ['no index', () => rm(join(directory, 'audit/leaves.db'))],
])('%s: the tree is made again from the log', async (_what, damage) => {
  const log = await embedded();
  await fill(log);
  const root = await rootIn(log);
  await damage();
  expect(await rootIn(log)).toBe(root);
  await withTree(log, async (tree) => expect(await tree.files.read(0, 0)).toHaveLength(8_192));
});

test('nothing is signed that contradicts the last checkpoint', async () => {
  const [log, shorter, changed] = [await embedded(), await embedded('shorter.db'), await embedded('changed.db')];
  // A copy has the id of the log.
  const [created] = await log
    .readStream('log-identity')
    .then(async (found) => (found.length > 0 ? found : log.identity().then(() => log.readStream('log-identity'))));
  if (created === undefined) throw new Error('The log has no id.');
  for (const each of [shorter, changed]) await each.append('log-identity', [created], 'no-stream');
  const given = events(300);
  await log.append('order-acme.1', given, 'no-stream');
  await shorter.append('order-acme.1', given.slice(0, 200), 'no-stream');
  await changed.append('order-acme.1', [...given.slice(0, 299), event('forged')], 'no-stream');
  await changed.append('order-acme.2', events(300), 'no-stream');
  const signers = await keys();
  await withTree(log, (tree) => makeCheckpoint(tree, signers, PLACES()));
  for (const each of [shorter, changed]) {
    const signing = withTree(each, (tree) => makeCheckpoint(tree, signers, PLACES()));
    await expect(signing).rejects.toThrow(ContradictionError);
  }
  await withTree(log, async (tree) => {
    await log.append('order-acme.1', events(1), 'any');
    await catchUp(log, tree);
    expect(await makeCheckpoint(tree, signers, PLACES())).toContain('\n302\n');
  });
});

test('a kept tree follows the log, and signs it as often as it is told', async () => {
  const log = await embedded();
  await fill(log);
  const tree = await openTree(log, PLACES().directory);
  const notes: string[] = [];
  const ending = new AbortController();
  const signed = (count: number) =>
    new Promise<void>((resolve) => {
      const look = setInterval(() => {
        if (notes.length < count) return;
        clearInterval(look);
        resolve();
      }, 10);
    });
  const running = keepTree(
    {
      tree,
      keys: await keys(),
      places: PLACES(),
      queue: new PQueue({ concurrency: 1 }),
      everyMs: 50,
      onCheckpoint: (note) => notes.push(note),
      onContradiction: (error) => {
        throw error;
      },
    },
    ending.signal,
  );
  await signed(1);
  const { size } = tree;
  await log.append('order-acme.1', events(3), 'any');
  await signed(notes.length + 2);
  ending.abort();
  await running;
  tree.index.close();
  expect(parseCheckpoint(notes.at(-1) ?? '').size).toBe(size + 3);
  expect(await rootIn(log)).toBe(await rootIn(log, 'fresh'));
});

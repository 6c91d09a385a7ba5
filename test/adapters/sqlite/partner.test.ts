/** Half of a query's work done by another reader thread. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { MessageChannel, Worker } from 'node:worker_threads';
import { type Partner, partnerAt, type Task } from '#app/adapters/readmodels/sqlite/partner.js';
import { ReadConnection } from '#app/adapters/readmodels/sqlite/readConnection.js';
import { openSqliteReadModelWriter } from '#app/adapters/readmodels/sqlite/writer.js';
import { acmePlaces, fill, insert } from '../../contract/readModelsFixture.js';

const READER_THREAD = new URL('../../../dist/adapters/readmodels/sqlite/readerThread.js', import.meta.url);

describe('a partner of a reader thread', () => {
  let directory: string;
  let file: string;
  let connection: ReadConnection;
  let worker: Worker;
  let partner: Partner;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'partner-'));
    file = join(directory, 'readmodels.db');
    const writer = await openSqliteReadModelWriter({ file });
    await fill(writer, [insert(1, {}), insert(2, {}), insert(3, {})]);
    await writer.close();
    connection = new ReadConnection({ file, cacheMegabytes: 1 });
    worker = new Worker(READER_THREAD, { workerData: { file, cacheMegabytes: 1 } });
    await once(worker, 'online');
    const { port1, port2 } = new MessageChannel();
    worker.postMessage({ partner: port2 }, [port2]);
    port1.unref();
    partner = partnerAt(port1);
  });

  afterAll(async () => {
    connection.close();
    worker.postMessage('close');
    await once(worker, 'exit');
    await rm(directory, { recursive: true });
  });

  const table = () => {
    const found = connection.atOnce(() => connection.table(acmePlaces));
    if (found === undefined) throw new Error('There is no table.');
    return found;
  };
  const rowsBelow = (last: number): Task => ({
    kind: 'rows',
    query: `SELECT row FROM r${table().id} WHERE row < ? ORDER BY row`,
    cells: [last],
    most: 3,
  });
  const scan = (kept: number): Task => ({
    kind: 'scan',
    scan: {
      tableId: table().id,
      from: `r${table().id} AS r`,
      where: 'r.id <> ?',
      cells: ['x'],
      columns: ['row'],
      kept,
    },
  });
  /** What the partner found, given time to begin. */
  async function asked(task: Task, state = table()) {
    const pending = partner.start(state, task);
    await wait(500);
    return pending.finish();
  }

  test('finds rows, and lists or counts the matches of a scan', async () => {
    expect(await asked(rowsBelow(3))).toEqual({ count: 2, json: '[1,2]' });
    expect(await asked(scan(10))).toEqual({ count: 3, json: '[1,2,3]' });
    expect(await asked(scan(2))).toEqual({ count: 3 });
  });

  test('does nothing where its table is not the same', async () => {
    expect(await asked(rowsBelow(3), { ...table(), changes: table().changes + 1 })).toBeUndefined();
  });

  test('does nothing where the answer has no room, and stays of use after a query that fails', async () => {
    const failing: Task = { kind: 'rows', query: 'SELECT row FROM nothing', cells: [], most: 1 };
    expect(await asked(failing)).toBeUndefined();
    const long: Task = {
      kind: 'rows',
      query: `SELECT hex(zeroblob(100)) AS row FROM r${table().id}`,
      cells: [],
      most: 1,
    };
    expect(await asked(long)).toBeUndefined();
    expect(await asked(rowsBelow(2))).toEqual({ count: 1, json: '[1]' });
  });

  test('what it has not begun is taken back', async () => {
    const pending = partner.start(table(), {
      kind: 'rows',
      query: `WITH RECURSIVE n(row) AS (SELECT 1 UNION ALL SELECT row + 1 FROM n WHERE row < 2000000) SELECT max(row) AS row FROM n`,
      cells: [],
      most: 1,
    });
    const behind = partner.start(table(), rowsBelow(2));
    expect(behind.finish()).toBeUndefined();
    await wait(50);
    expect([undefined, { count: 1, json: '[2000000]' }]).toContainEqual(pending.finish());
  });
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteReadModelWriter } from '#app/adapters/readmodels/sqlite/writer.js';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'dynamic-assets-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

it('a writer that never rests lets another one in', async () => {
  const file = join(directory, 'readmodels.db');
  const [restless, other] = [await openSqliteReadModelWriter({ file }), await openSqliteReadModelWriter({ file })];
  let position = 0;
  let isIn = false;
  const write = async (): Promise<void> => {
    // Timers run only inside transactions, as they do while a large synchronisation is projected in pieces.
    while (!isIn && position < 20_000) {
      await restless.begin();
      await new Promise(setImmediate);
      await restless.commit(new Map([['records', ++position]]));
    }
  };
  const writing = write();
  await other.begin();
  isIn = true;
  await other.commit(new Map([['order_history', 1]]));
  await writing;
  expect(position).toBeLessThan(20_000);
  await restless.close();
  await other.close();
});

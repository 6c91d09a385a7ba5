/** Two processes project one log into one file: while one rebuilds a projection, the other skips nothing. */
import { join } from 'node:path';
import { openSqliteReadModels } from '#app/adapters/readmodels/sqlite/store.js';
import { openSqliteReadModelWriter } from '#app/adapters/readmodels/sqlite/write/writer.js';
import { createRecord } from '#app/commands/records.js';
import { PutBackError } from '#app/projector/checkpoints.js';
import { projections } from '#app/projector/projections.js';
import { runProjections } from '#app/projector/runner.js';
import { scaled } from '../engines/timeScale.js';
import { openInside, openTenant } from './harness.js';

const WAIT_MS = scaled(30_000);

test('a projector that has passed what another process puts back stops, and applies it when it starts again', async () => {
  const inside = await openInside();
  const { eventStore } = inside;
  await openTenant(inside, 'acme');
  const create = (key: string) =>
    createRecord(inside.commands, inside.caller('acme'), inside.assetType('acme', 'dyn_party'), {
      external_id: key,
      name: 'Party',
    });
  for (const key of ['a', 'b', 'c']) await create(key);

  const file = join(inside.directoryPath, 'shared.db');
  const [one, other] = [await openSqliteReadModelWriter({ file }), await openSqliteReadModelWriter({ file })];
  const readModels = await openSqliteReadModels({ file });
  const stopping = new AbortController();
  const run = () => runProjections({ eventStore, writer: one, projections }, stopping.signal);
  const isShown = async () => readModels.waitFor('records', await eventStore.head(), WAIT_MS);
  const running = run();
  expect(await isShown()).toBe(true);

  await other.reset('records');
  await create('d');
  await expect(running).rejects.toThrow(PutBackError);

  const again = run();
  expect(await isShown()).toBe(true);
  const query = { filters: [], sort: [], offset: 0, limit: 10 };
  expect((await readModels.list({ tenant: 'acme', table: 'dyn_party' }, query)).total).toBe(4);
  stopping.abort();
  await again;
  for (const each of [readModels, one, other, inside]) await each.close();
});

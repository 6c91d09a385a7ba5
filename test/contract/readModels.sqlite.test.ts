import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteReadModels } from '#app/adapters/readmodels/sqlite/store.js';
import { openSqliteReadModelWriter } from '#app/adapters/readmodels/sqlite/writer.js';
import { ReadModelsUnavailableError } from '#app/ports/readModels.js';
import { describeReadModels } from './readModels.js';

const directory = mkdtempSync(join(tmpdir(), 'read-models-'));
afterAll(() => rmSync(directory, { recursive: true }));

let number = 0;
describeReadModels('SQLite', async () => {
  number += 1;
  const file = join(directory, `${number}.db`);
  return {
    readModels: await openSqliteReadModels({ file, readers: 1 }),
    writer: await openSqliteReadModelWriter({ file }),
    anotherWriter: () => openSqliteReadModelWriter({ file }),
    hasTransactions: true,
  };
});

test('a file that cannot be opened is named', async () => {
  const file = join(directory, 'nowhere', 'readmodels.db');
  await expect(openSqliteReadModels({ file })).rejects.toThrow(ReadModelsUnavailableError);
  await expect(openSqliteReadModelWriter({ file })).rejects.toThrow(file);
});

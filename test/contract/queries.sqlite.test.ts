import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRowReads } from '#app/adapters/rows/sqlite/reads.js';
import { openRowWriter } from '#app/adapters/rows/sqlite/writer.js';
import { describeQueries } from './queries.js';

const directory = mkdtempSync(join(tmpdir(), 'queries-'));
afterAll(() => rmSync(directory, { recursive: true }));

describeQueries('SQLite', async () => ({
  writer: openRowWriter({ directory }),
  reads: openRowReads({ directory, readers: 1 }),
}));

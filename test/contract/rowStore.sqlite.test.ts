import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRowReads } from '#app/adapters/rows/sqlite/reads.js';
import { openRowWriter } from '#app/adapters/rows/sqlite/writer.js';
import { describeRows } from './rowStore.js';

const directory = mkdtempSync(join(tmpdir(), 'rows-'));
afterAll(() => rmSync(directory, { recursive: true }));

describeRows('SQLite', async () => ({ writer: openRowWriter({ directory }), reads: openRowReads({ directory }) }));

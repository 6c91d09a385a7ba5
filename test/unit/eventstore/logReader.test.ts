import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLog } from '#app/adapters/eventstore/sqlite/logFile.js';
import { LogReader } from '#app/adapters/eventstore/sqlite/logReader.js';

const directory = mkdtempSync(join(tmpdir(), 'log-reader-'));
afterAll(() => rmSync(directory, { recursive: true }));

test.each([true, false])('data of streams that are not wanted is not parsed; few are: %s', (isSparse) => {
  const db = openLog(join(directory, `${isSparse}.db`), 'normal', 0);
  db.exec(`INSERT INTO event_types VALUES (1, 'Happened', 1)`);
  const metadata = JSON.stringify(['acme', { kind: 'client', id: 'c' }, 'r', 'r', '2026-11-22T00:00:00.000Z']);
  const insert = db.prepare('INSERT INTO events VALUES (?, ?, 0, 0, 0, 1, ?, ?, ?)');
  for (const [id, name, data] of [
    [1, 'a-1', '{}'],
    [2, 'b-1', 'no JSON'],
  ] as const) {
    db.prepare('INSERT INTO streams VALUES (?, ?)').run(id, name);
    insert.run(id, id, Buffer.alloc(16), metadata, data);
  }
  const slice = new LogReader(db).slice(0, (stream) => stream !== 'b-1', 500, isSparse);
  expect(slice).toMatchObject({ events: [{ stream: 'a-1' }], position: 2, caughtUp: true });
  db.close();
});

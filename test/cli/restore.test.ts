/** Backups that are not as they should be, of other installations, and of earlier releases. */
import { existsSync, readdirSync } from 'node:fs';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { EventStoreDouble } from '../engines/eventStoreDouble.js';
import { BackupWorkplace, LOG_PROOF } from './backupWorkplace.js';

let place: BackupWorkplace;
beforeAll(async () => {
  place = await BackupWorkplace.make();
});
afterAll(() => place.remove());

const refusal = (code: number, text: string) => ({ code, stderr: expect.stringContaining(text) });

test('what a backup that was killed left behind is replaced; a whole one is not', async () => {
  const { workplace, within } = place;
  await mkdir(within('first', 'draft.part', 'keys'), { recursive: true });
  await writeFile(within('first', 'draft.part', 'events.db'), 'half');
  expect(await workplace.json(['backup', 'first'])).toMatchObject({ log: LOG_PROOF });
  expect(existsSync(within('first', 'draft.part'))).toBe(false);
  const again = await workplace.run(['backup', 'first']);
  expect(again).toMatchObject(refusal(1, 'holds events.db already; name another directory.'));
});

test('a backup whose log was changed is refused, and nothing is touched', async () => {
  const { workplace, within } = place;
  await workplace.json(['backup', 'changed']);
  const db = openSqlite(within('changed', 'events.db'));
  db.prepare("UPDATE events SET data = replace(data, 'acme', 'acne')").run();
  db.close();
  const before = readdirSync(within());
  const restored = await workplace.run(['restore', 'changed', '--replace']);
  expect(restored).toMatchObject(refusal(1, 'is not what was backed up'));
  expect(readdirSync(within())).toEqual(before);
  expect(readdirSync(within('data'))).toContain('events.db');
  expect(await workplace.run(['restore', 'nothing'])).toMatchObject(refusal(1, 'no backup'));
});

test('a copy made by hand with its write-ahead log is put back as well', async () => {
  const { workplace, within } = place;
  const service = await workplace.start();
  await place.withApi(service, (api) => place.create(api, 1));
  await mkdir(within('by-hand', 'keys'), { recursive: true });
  for (const name of ['events.db', 'events.db-wal', 'keys/secrets.key'])
    await copyFile(within('data', name), within('by-hand', name));
  await service.stop();
  await workplace.json(['restore', 'by-hand'], { DATA_DIR: 'elsewhere' });
  expect(await place.total(await workplace.start({ DATA_DIR: 'elsewhere' }))).toBe(1);
  expect(await readFile(within('elsewhere', 'log-id'), 'utf8')).toBe(await readFile(within('data', 'log-id'), 'utf8'));
});

test('with EVENTSTORE_URL: keys and the id of the log; what fits no such installation is refused', async () => {
  const double = await EventStoreDouble.start();
  const environment = { EVENTSTORE_URL: double.url, DATA_DIR: 'beside' };
  const beside = await BackupWorkplace.make(environment);
  const { workplace, within } = beside;
  try {
    const { code, stdout } = await workplace.run(['backup', 'keys-only'], environment);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining('The event log is on its own server'),
    });
    expect(readdirSync(within('keys-only')).sort()).toEqual(['backup.json', 'keys', 'log-id']);
    const restored = { ...environment, DATA_DIR: 'new' };
    await workplace.json(['restore', 'keys-only'], restored);
    expect((await workplace.run(['doctor'], restored)).stdout).toContain('1 signing secrets that open');
    expect(await workplace.run(['restore', 'keys-only'])).toMatchObject(refusal(1, 'holds keys only'));
    await place.workplace.json(['backup', within('embedded')]);
    const embedded = await workplace.run(['restore', 'embedded'], { ...environment, DATA_DIR: 'other' });
    expect(embedded).toMatchObject(refusal(1, '"dynamic-assets migrate" it'));
  } finally {
    await double.dispose();
    await beside.remove();
  }
});

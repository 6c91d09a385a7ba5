/** A backup made beside a running service, and put back: nothing is lost, and nothing is overwritten unasked. */
import { readdirSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { at } from './apiClient.js';
import { BackupWorkplace, LOG_PROOF } from './backupWorkplace.js';

let place: BackupWorkplace;
beforeAll(async () => {
  place = await BackupWorkplace.make();
});
afterAll(() => place.remove());

it('is made while records are written; put back, it holds what was there at its moment, and the keys open its secrets', async () => {
  const { workplace, within } = place;
  const service = await workplace.start();
  let [written, before, after] = [0, 0, 0];
  await place.withApi(service, async (api) => {
    const create = () => place.create(api, ++written);
    for (let n = 0; n < 5; n++) await create();
    before = written;
    let isMade = false;
    const making = workplace.json(['backup', 'one']).finally(() => {
      isMade = true;
    });
    while (!isMade) await create();
    after = written;
    const { files } = z.object({ files: z.array(z.string()) }).parse(await making);
    expect(files).toEqual(expect.arrayContaining(['events.db', 'keys/secrets.key', 'log-id', 'backup.json']));
  });
  await service.stop();
  for (const name of readdirSync(within('one'))) expect(statSync(within('one', name)).mode & 0o077).toBe(0);
  expect(readdirSync(within('one')).sort()).toEqual(['backup.json', 'events.db', 'keys', 'log-id']);

  const restored = await workplace.json(['restore', 'one'], { DATA_DIR: 'elsewhere' });
  expect(restored).toEqual({ data_dir: within('elsewhere'), log: LOG_PROOF, replaced: null });
  const described = JSON.parse(await readFile(within('one', 'backup.json'), 'utf8'));
  expect(described).toMatchObject({ format: 1, log: at(restored, 'log') });
  const elsewhere = await workplace.start({ DATA_DIR: 'elsewhere' });
  const found = await place.total(elsewhere);
  expect(found).toBeGreaterThanOrEqual(before);
  expect(found).toBeLessThanOrEqual(after);
  await elsewhere.stop();
  const doctor = await workplace.run(['doctor'], { DATA_DIR: 'elsewhere' });
  expect(doctor.stdout).toContain('1 signing secrets that open');
});

it('is put in the place of what is there only when told, and while nobody uses it; what was there is kept', async () => {
  const { workplace } = place;
  const service = await workplace.start();
  const total = await place.total(service);
  expect(await workplace.run(['restore', 'one'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/data is not empty: it holds .*events\.db.*--replace/),
  });
  expect(await workplace.run(['restore', 'one', '--replace'])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/is in use by a service with all roles .*: stop it first/),
  });
  await place.withApi(service, (api) => place.create(api, 0));
  await service.stop();
  const replaced = String(at(await workplace.json(['restore', 'one', '--replace']), 'replaced'));
  expect(readdirSync(replaced)).toEqual(expect.arrayContaining(['events.db', 'keys', 'log-id']));
  const again = await workplace.start();
  expect(await place.total(again)).toBeLessThanOrEqual(total);
});

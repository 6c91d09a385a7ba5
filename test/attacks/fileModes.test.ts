/** Somebody else with an account on the machine: no file of the service is theirs to read, wherever it was before. */
import { chmod, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Service } from '../acceptance/service.js';

const OTHERS = 0o077;
let place: string;
let service: Service;

beforeAll(async () => {
  // What the service's user sets up is of no use when the shell, or the container, lets others read.
  process.umask(0o022);
  place = await mkdtemp(join(tmpdir(), 'dynamic-assets-'));
  await mkdir(join(place, 'data'), { mode: 0o755 });
  service = new Service(join(place, 'data'), {});
});
afterAll(async () => {
  await service.stop();
  await rm(place, { recursive: true, force: true });
});

/** Paths in a directory, itself included, that others may read, write or enter; not those in a closed directory below it. */
async function openIn(directory: string): Promise<readonly string[]> {
  const paths = ['.', ...(await readdir(directory, { recursive: true }))];
  const modes = await Promise.all(paths.map(async (path) => [path, (await stat(join(directory, path))).mode] as const));
  const open = modes.filter(([, mode]) => (mode & OTHERS) !== 0).map(([path]) => path);
  return open.filter((path) => dirname(path) === '.' || open.includes(dirname(path)));
}

it('a data directory that was there, open to all, is closed by the first command, and files are made for the owner alone', async () => {
  const tenant = await service.createTenant('acme', 'dyn_stock_order');
  await service.start();
  await tenant.create('dyn_item', { external_id: 'A1', name: 'Tea' });
  const names = await readdir(service.dataDir, { recursive: true });
  expect(names).toEqual(expect.arrayContaining(['events.db', 'events.db-wal', 'rows/acme.db', 'keys/secrets.key']));
  expect(await openIn(service.dataDir)).toEqual([]);
});

it('a start closes a directory that is open, and says so', async () => {
  await service.stop();
  await chmod(service.dataDir, 0o755);
  await service.start();
  expect((await stat(service.dataDir)).mode & OTHERS).toBe(0);
  expect(service.log).toContain(`Others could read or write ${service.dataDir}; now only its owner can.`);
  expect(service.loggedErrors).toEqual([]);
});

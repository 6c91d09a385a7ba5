/** A PostgreSQL of Debian's package for one peer, on the loopback address, as a user without privileges. */
import { chown, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { end, freePort, launch, run } from './processes.js';

const VERSIONS = '/usr/lib/postgresql';

/** What a machine of this size is usually given; the rest is as delivered. */
const SETTINGS = { shared_buffers: '1GB', effective_cache_size: '8GB', max_wal_size: '4GB', random_page_cost: '1.1' };

export const POSTGRES_GIVEN = `PostgreSQL with ${Object.entries(SETTINGS)
  .map(([name, value]) => `${name} ${value}`)
  .join(', ')}, pg_trgm`;
export const POSTGRES_DURABILITY = 'each commit synchronised to the disk (fsync and synchronous_commit on)';

async function binaries() {
  const versions = await readdir(VERSIONS).catch(() => []);
  const newest = versions.map(Number).toSorted((a, b) => b - a)[0];
  if (newest === undefined) throw new Error('PostgreSQL is missing: apt-get install postgresql');
  return join(VERSIONS, String(newest), 'bin');
}

export async function postgresVersion() {
  const { stdout } = await run(join(await binaries(), 'postgres'), ['--version']);
  return `PostgreSQL ${/\d+(\.\d+)+/.exec(stdout)[0]}`;
}

/** PostgreSQL refuses to run as root. */
async function user() {
  if (process.getuid() !== 0) return {};
  const idOf = async (option) => Number((await run('id', [option, 'postgres'])).stdout);
  return { uid: await idOf('-u'), gid: await idOf('-g') };
}

/** @returns its port and process; `sql` runs statements in its only database, `bench` */
export async function startPostgres(directory) {
  const bin = await binaries();
  const data = join(directory, 'postgres');
  const identity = await user();
  await mkdir(data, { recursive: true });
  if (identity.uid !== undefined) await chown(data, identity.uid, identity.gid);
  await run(join(bin, 'initdb'), ['-D', data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--locale=C.UTF-8'], {
    ...identity,
    cwd: data,
  });
  const port = await freePort();
  const settings = { ...SETTINGS, port, listen_addresses: '127.0.0.1', unix_socket_directories: '' };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const to = (database) => ['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres', '-d', database, '-qAt'];
  const sqlIn = (database, text) => run(join(bin, 'psql'), [...to(database), '-v', 'ON_ERROR_STOP=1', '-c', text]);
  const child = await launch(
    join(bin, 'postgres'),
    ['-D', data, ...args],
    { ...identity, cwd: data, log: join(directory, 'postgres.log') },
    async () => (await sqlIn('postgres', 'SELECT 1')).stdout !== '',
  );
  await sqlIn('postgres', 'CREATE DATABASE bench');
  await sqlIn('bench', 'CREATE EXTENSION pg_trgm');
  return {
    port,
    pid: child.pid,
    sql: (text) => sqlIn('bench', text),
    /** A shutdown that does not wait for clients. */
    stop: () => end(child, 'SIGINT'),
  };
}

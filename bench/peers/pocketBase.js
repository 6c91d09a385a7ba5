/** PocketBase: its own example program, built by Go from the module. */
import { access, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '../service.js';
import { answersAt, end, freePort, launch, run } from './processes.js';

const VERSION = '0.39.0';
const GO = '/usr/local/go/bin';
const RECORDS = '/api/collections/dyn_location/records';
const PERSON = ['bench@example.com', 'a password of the bench'];
/** As many records as one list may have, and one batch as we set it. */
const BATCH = 1000;
const TEXTS = ['external_id', 'name', 'postal_zone', 'city_name', 'country_subentity', 'country', 'batch_id'];
const INDEXED = ['name', 'postal_zone', 'city_name', 'country', 'batch_id', 'created_at', 'updated_at'];

const COLLECTION = {
  name: 'dyn_location',
  type: 'base',
  fields: [
    ...TEXTS.map((name) => ({ name, type: 'text' })),
    { name: 'latitude', type: 'number' },
    { name: 'longitude', type: 'number' },
    { name: 'created_at', type: 'autodate', onCreate: true },
    { name: 'updated_at', type: 'autodate', onCreate: true, onUpdate: true },
  ],
  indexes: [
    'CREATE UNIQUE INDEX by_key ON dyn_location (external_id)',
    ...INDEXED.map((name) => `CREATE INDEX by_${name} ON dyn_location (${name})`),
  ],
};

const SETTINGS = {
  batch: { enabled: true, maxRequests: BATCH, timeout: 600, maxBodySize: 2 ** 26 },
  logs: { maxDays: 0 },
};

/** Its upsert knows records by their id alone, of 15 characters: it is made from the key. */
const idOf = ({ external_id: key }) => key.replace('LOC-', '').padStart(15, '0');

export const pocketBase = {
  name: 'PocketBase',
  given:
    'an index on each sorted or filtered field, no log of requests; the batch API with 1000 upserts (PUT) a call, ids made from `external_id`; clean-up: ids listed 1000 at a time, deleted by batches',
  durability:
    'its default, SQLite with synchronous NORMAL: a commit survives the end of the process, not a loss of power',
  async install(directory) {
    const program = join(directory, 'base');
    await access(program).catch(async () => {
      await mkdir(directory, { recursive: true });
      const env = { ...process.env, PATH: `${process.env.PATH}:${GO}`, GOBIN: directory };
      await run('go', ['install', `github.com/pocketbase/pocketbase/examples/base@v${VERSION}`], { env });
    });
    return { version: VERSION, program };
  },
  async start(directory, { program }) {
    const data = join(directory, 'data');
    await run(program, ['superuser', 'upsert', ...PERSON, '--dir', data]);
    const port = await freePort();
    const child = await launch(
      program,
      ['serve', '--http', `127.0.0.1:${port}`, '--dir', data],
      { log: join(directory, 'log') },
      answersAt(port, '/api/health'),
    );
    const client = createClient(port, `127.0.0.1:${port}`);
    const [identity, password] = PERSON;
    const signedIn = await client.ok('POST', '/api/collections/_superusers/auth-with-password', { identity, password });
    client.headers.authorization = JSON.parse(signedIn).token;
    await client.ok('PATCH', '/api/settings', SETTINGS);
    await client.ok('POST', '/api/collections', COLLECTION);
    const batch = (requests) => client.ok('POST', '/api/batch', { requests });
    const upsert = (places, batchId) =>
      batch(
        places.map((place) => ({
          method: 'PUT',
          url: RECORDS,
          body: { ...place, id: idOf(place), batch_id: batchId },
        })),
      );
    const listed = async (query) => JSON.parse(await client.ok('GET', `${RECORDS}?${new URLSearchParams(query)}`));
    return {
      pids: [child.pid],
      data,
      create: (place) => client.ok('POST', RECORDS, { ...place, id: idOf(place) }),
      addBatch: upsert,
      repeatBatch: upsert,
      async ids() {
        return (await listed({ perPage: BATCH, fields: 'id' })).items.map(({ id }) => id);
      },
      get: (id) => client.ok('GET', `${RECORDS}/${id}`),
      async list({ page = 1, sort, filters = {} }) {
        const filter = Object.entries(filters).map(([field, term]) => `${field} ~ '${term}'`);
        const query = {
          page,
          perPage: 25,
          ...(sort && { sort }),
          ...(filter.length > 0 && { filter: filter.join(' && ') }),
        };
        return (await listed(query)).totalItems;
      },
      async cleanUp(batchId) {
        let deleted = 0;
        for (;;) {
          const query = { perPage: BATCH, fields: 'id', skipTotal: 1, filter: `batch_id != '${batchId}'` };
          const { items } = await listed(query);
          if (items.length === 0) return deleted;
          await batch(items.map(({ id }) => ({ method: 'DELETE', url: `${RECORDS}/${id}` })));
          deleted += items.length;
        }
      },
      async settle() {},
      async stop() {
        client.close();
        await end(child);
      },
    };
  },
};

/** Parse Server on PostgreSQL. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '../service.js';
import { installPackage } from './npm.js';
import { POSTGRES_DURABILITY, POSTGRES_GIVEN, postgresVersion, startPostgres } from './postgres.js';
import { answersAt, end, freePort, launch } from './processes.js';

const VERSION = '9.10.0';
/** With 2.3.0, which a new installation gets, each batch is answered with an error. */
const ROUTER = '2.2.0';
const OBJECTS = '/parse/classes/dyn_location';
const KEY = 'a key of the bench';
const BATCH = 1000;
const TEXTS = ['external_id', 'name', 'postal_zone', 'city_name', 'country_subentity', 'country', 'batch_id'];

const CLASS = {
  className: 'dyn_location',
  fields: {
    ...Object.fromEntries(TEXTS.map((name) => [name, { type: 'String' }])),
    latitude: { type: 'Number' },
    longitude: { type: 'Number' },
  },
};

/** Its own API makes no indexes on PostgreSQL. */
const INDEXES = [
  'CREATE UNIQUE INDEX ON dyn_location (external_id)',
  ...['name', 'postal_zone', 'city_name', 'country', 'batch_id', '"createdAt"', '"updatedAt"'].map(
    (name) => `CREATE INDEX ON dyn_location (${name})`,
  ),
  ...['external_id', 'name', 'city_name', 'country'].map(
    (name) => `CREATE INDEX ON dyn_location USING gin (${name} gin_trgm_ops)`,
  ),
];

/** The default order of its lists and its names of the times are its own. */
const fieldOf = (sort) => sort.replace('created_at', 'createdAt').replace('updated_at', 'updatedAt');

export const parseServer = {
  name: 'Parse Server',
  given: `${POSTGRES_GIVEN}; an index on each sorted or filtered field and one of trigrams on each searched one (SQL); the master key; \`objectId\` is the \`external_id\`; batches of 1000 POST (new) or PUT (seen again) as one transaction; clean-up: ids listed 1000 at a time, deleted by batches; \`router\` ${ROUTER}, since its batches fail with 2.3.0`,
  durability: POSTGRES_DURABILITY,
  async install(directory) {
    const bin = await installPackage(directory, 'parse-server', VERSION, { router: ROUTER });
    return { version: `${VERSION} on ${await postgresVersion()}`, program: join(bin, 'parse-server') };
  },
  async start(directory, { program }) {
    const postgres = await startPostgres(directory);
    const port = await freePort();
    const settings = {
      appId: 'bench',
      masterKey: KEY,
      databaseURI: `postgres://postgres@127.0.0.1:${postgres.port}/bench`,
      serverURL: `http://127.0.0.1:${port}/parse`,
      mountPath: '/parse',
      port,
      host: '127.0.0.1',
      allowCustomObjectId: true,
      maxUploadSize: '64mb',
      silent: true,
    };
    const file = join(directory, 'settings.json');
    await writeFile(file, JSON.stringify(settings));
    const options = { cwd: directory, log: join(directory, 'log') };
    const child = await launch(program, [file], options, answersAt(port, '/parse/health'));
    const client = createClient(port, `127.0.0.1:${port}`);
    Object.assign(client.headers, { 'x-parse-application-id': 'bench', 'x-parse-master-key': KEY });
    await client.ok('POST', '/parse/schemas/dyn_location', CLASS);
    for (const statement of INDEXES) await postgres.sql(statement);
    const batch = (requests) => client.ok('POST', '/parse/batch', { requests, transaction: true });
    const withId = ({ external_id: objectId, ...rest }) => ({ objectId, external_id: objectId, ...rest });
    const listed = async (query) => JSON.parse(await client.ok('GET', `${OBJECTS}?${new URLSearchParams(query)}`));
    return {
      pids: [child.pid, postgres.pid],
      data: join(directory, 'postgres'),
      create: (place) => client.ok('POST', OBJECTS, withId(place)),
      addBatch: (places, batchId) =>
        batch(
          places.map((place) => ({ method: 'POST', path: OBJECTS, body: { ...withId(place), batch_id: batchId } })),
        ),
      repeatBatch: (places, batchId) =>
        batch(
          places.map((place) => ({
            method: 'PUT',
            path: `${OBJECTS}/${place.external_id}`,
            body: { ...place, batch_id: batchId },
          })),
        ),
      async ids() {
        return (await listed({ limit: BATCH, keys: 'objectId' })).results.map(({ objectId }) => objectId);
      },
      get: (id) => client.ok('GET', `${OBJECTS}/${id}`),
      async list({ page = 1, sort, filters = {} }) {
        const contains = Object.entries(filters).map(([field, term]) => [field, { $regex: term, $options: 'i' }]);
        const where = JSON.stringify(Object.fromEntries(contains));
        const query = { limit: 25, skip: (page - 1) * 25, count: 1, where, ...(sort && { order: fieldOf(sort) }) };
        return (await listed(query)).count;
      },
      async cleanUp(batchId) {
        let deleted = 0;
        for (;;) {
          const query = { limit: BATCH, keys: 'objectId', where: JSON.stringify({ batch_id: { $ne: batchId } }) };
          const { results } = await listed(query);
          if (results.length === 0) return deleted;
          await batch(results.map(({ objectId }) => ({ method: 'DELETE', path: `${OBJECTS}/${objectId}` })));
          deleted += results.length;
        }
      },
      settle: () => postgres.sql('VACUUM ANALYZE'),
      async stop() {
        client.close();
        await end(child);
        await postgres.stop();
      },
    };
  },
};

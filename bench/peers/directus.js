/** Directus on PostgreSQL. */
import { join } from 'node:path';
import { createClient } from '../service.js';
import { installPackage } from './npm.js';
import { POSTGRES_DURABILITY, POSTGRES_GIVEN, postgresVersion, startPostgres } from './postgres.js';
import { answersAt, end, freePort, launch, run } from './processes.js';

const VERSION = '12.2.0';
const ITEMS = '/items/dyn_location';
const EMAIL = 'bench@example.com';
const PASSWORD = 'a password of the bench';
/** PostgreSQL takes no statement with more than 65,535 values. */
const DELETED_AT_ONCE = 10_000;
const INDEXED = ['name', 'postal_zone', 'city_name', 'country', 'batch_id'];

const text = (field) => ({ field, type: 'string', schema: { is_indexed: INDEXED.includes(field) }, meta: {} });
const time = (field, special) => ({
  field,
  type: 'timestamp',
  schema: { is_indexed: true },
  meta: { special: [special] },
});

const COLLECTION = {
  collection: 'dyn_location',
  meta: { accountability: null },
  schema: {},
  fields: [
    { field: 'external_id', type: 'string', schema: { is_primary_key: true, is_nullable: false }, meta: {} },
    ...['name', 'postal_zone', 'city_name', 'country_subentity', 'country', 'batch_id'].map(text),
    { field: 'latitude', type: 'float', schema: {}, meta: {} },
    { field: 'longitude', type: 'float', schema: {}, meta: {} },
    time('created_at', 'date-created'),
    time('updated_at', 'date-updated'),
  ],
};

/** For `_icontains`, which compares in lower case. */
const TRIGRAMS = ['external_id', 'name', 'city_name', 'country'].map(
  (name) => `CREATE INDEX ON dyn_location USING gin (lower(${name}) gin_trgm_ops)`,
);

export const directus = {
  name: 'Directus',
  given: `${POSTGRES_GIVEN}; an index on each sorted or filtered field and one of trigrams on each searched one (SQL); no activity or revisions kept; \`external_id\` is the primary key; arrays of 1000 to POST (new) and PATCH (seen again), which answer keys alone; clean-up: DELETE with a query, 10,000 a call`,
  durability: POSTGRES_DURABILITY,
  async install(directory) {
    const bin = await installPackage(directory, 'directus', VERSION);
    return { version: `${VERSION} on ${await postgresVersion()}`, program: join(bin, 'directus') };
  },
  async start(directory, { program }) {
    const postgres = await startPostgres(directory);
    const port = await freePort();
    const env = {
      ...process.env,
      HOST: '127.0.0.1',
      PORT: String(port),
      DB_CLIENT: 'pg',
      DB_HOST: '127.0.0.1',
      DB_PORT: String(postgres.port),
      DB_DATABASE: 'bench',
      DB_USER: 'postgres',
      DB_PASSWORD: 'none',
      SECRET: 'a secret of the bench alone, for one run',
      ADMIN_EMAIL: EMAIL,
      ADMIN_PASSWORD: PASSWORD,
      ACCESS_TOKEN_TTL: '1d',
      MAX_PAYLOAD_SIZE: '64mb',
      TELEMETRY: 'false',
      LOG_LEVEL: 'warn',
      NODE_ENV: 'production',
    };
    await run(program, ['bootstrap'], { env, cwd: directory });
    const options = { env, cwd: directory, log: join(directory, 'log') };
    const child = await launch(program, ['start'], options, answersAt(port, '/server/ping'));
    const client = createClient(port, `127.0.0.1:${port}`);
    const signedIn = await client.ok('POST', '/auth/login', { email: EMAIL, password: PASSWORD });
    client.headers.authorization = `Bearer ${JSON.parse(signedIn).data.access_token}`;
    await client.ok('POST', '/collections', COLLECTION);
    for (const statement of TRIGRAMS) await postgres.sql(statement);
    const send = (method) => (places, batchId) =>
      client.ok(
        method,
        `${ITEMS}?fields=external_id`,
        places.map((place) => ({ ...place, batch_id: batchId })),
      );
    const listed = async (query) => JSON.parse(await client.ok('GET', `${ITEMS}?${new URLSearchParams(query)}`));
    const count = async (query) => (await listed({ limit: 1, meta: 'filter_count', ...query })).meta.filter_count;
    return {
      pids: [child.pid, postgres.pid],
      data: join(directory, 'postgres'),
      create: (place) => client.ok('POST', ITEMS, { ...place, batch_id: '' }),
      addBatch: send('POST'),
      repeatBatch: send('PATCH'),
      async ids() {
        return (await listed({ limit: 1000, fields: 'external_id' })).data.map(({ external_id: id }) => id);
      },
      get: (id) => client.ok('GET', `${ITEMS}/${id}`),
      async list({ page = 1, sort, filters = {} }) {
        const query = { limit: 25, page, meta: 'filter_count', ...(sort && { sort }) };
        for (const [field, term] of Object.entries(filters)) query[`filter[${field}][_icontains]`] = term;
        return (await listed(query)).meta.filter_count;
      },
      async cleanUp(batchId) {
        const filter = { batch_id: { _neq: batchId } };
        const deleted = await count({ filter: JSON.stringify(filter) });
        for (let gone = 0; gone < deleted; gone += DELETED_AT_ONCE) {
          await client.ok('DELETE', ITEMS, { query: { filter, limit: DELETED_AT_ONCE } });
        }
        return deleted;
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

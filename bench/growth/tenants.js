/** What a request costs, by the number of tenants of the service. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { operator, withFirstLog } from '../../dist/cli/operator.js';
import { createClient as createApiClient } from '../../dist/commands/identity/clients.js';
import { createTenant } from '../../dist/commands/identity/tenants.js';
import { readConfig } from '../../dist/config.js';
import { dropDatabase, ownPlaces } from '../engines/ownPlaces.js';
import { quantile } from '../figures.js';
import { diskMb, memoryMb } from '../peers/processes.js';
import { place } from '../places.js';
import { createClient, environment, spawnService, stopService } from '../service.js';
import { add } from './index.js';

const COUNTS = [1, 10, 100, 1_000, 5_000];
const RECORDS = 25;
/** Of how many tenants requests are made, by turns. */
const ASKED = 250;
/** Who fill the tenants that are only to be there, at once. */
const FILLERS = 32;
/** Whose first batch is timed, and whose first create. */
const TIMED = 10;
const ASSETS = '/api/v1/dynamic-assets/dyn/dyn_location/assets';
/** Rows on the server that MONGODB_URL names, in a database of the run's own; everything else embedded. */
const { MONGODB_URL = '' } = ownPlaces(process.env);
/** The server of the tests that speaks MongoDB's protocol takes 75 ms for a create. */
const REQUESTS = MONGODB_URL === '' ? 1_000 : 100;
const ENGINES = { EVENTSTORE_URL: '', MONGODB_URL, RABBITMQ_URL: '' };

/** @returns by title: unit, and points of count and cost */
export async function costsByTenants(directory, most) {
  const data = join(directory, 'tenants');
  await mkdir(data, { mode: 0o700 });
  const costs = new Map();
  const tenants = [];
  for (const count of COUNTS.filter((each) => each <= most)) {
    process.stderr.write(`\r${count} tenants `);
    const before = tenants.length;
    tenants.push(...(await addTenants(data, before, count)));
    const begun = performance.now();
    const { child, port } = await spawnService(data, ENGINES);
    const client = createClient(port, 'none');
    try {
      while ((await client.send('GET', '/health/ready')).status !== 200) await wait(5);
      if (before > 0) add(costs, 'start until ready', 'ms', count, performance.now() - begun);
      add(costs, 'memory after the start', 'MB', count, await memoryMb([child.pid]));
      const last = tenants.slice(Math.max(before, count - 2 * TIMED));
      await fillAll(port, tenants.slice(before, count - last.length));
      for (const tenant of last) await signIn(client, tenant);
      const filled = await timed(last.slice(0, TIMED), (tenant) => fill(client, tenant));
      const created = await timed(last.slice(TIMED), (tenant) => as(client, tenant).ok('POST', ASSETS, place(0)));
      for (const tenant of last.slice(TIMED)) await fill(client, tenant);
      // The first ones of a process take longer for other reasons.
      if (created.length === TIMED) {
        add(costs, 'first batch of a tenant', 'ms', count, quantile(filled, 0.5));
        add(costs, 'first create of a tenant', 'ms', count, quantile(created, 0.5));
      }
      await measureRequests(client, costs, tenants);
      add(costs, 'memory after the requests', 'MB', count, await memoryMb([child.pid]));
      add(costs, 'disk of a tenant', 'MB', count, (await diskMb(data)) / count);
      if (MONGODB_URL !== '') await countCollections(costs, count);
    } finally {
      client.close();
      await stopService(child);
    }
  }
  if (MONGODB_URL !== '') await dropDatabase(MONGODB_URL);
  return costs;
}

/** Each is a file of the server. */
async function countCollections(costs, tenants) {
  const client = await MongoClient.connect(MONGODB_URL);
  const collections = await client.db().collections();
  const indexes = await Promise.all(collections.map((each) => each.indexes()));
  await client.close();
  add(costs, 'collections', 'of all tenants', tenants, collections.length);
  add(costs, 'indexes', 'of all tenants', tenants, indexes.flat().length);
}

/** While the service is not running. */
function addTenants(data, from, to) {
  // As the command line does: its files are for their owner alone.
  process.umask(0o077);
  const names = Array.from({ length: to - from }, (_, i) => `tenant${from + i}`);
  return withFirstLog(
    async ({ commands }) => {
      const made = [];
      for (const name of names) {
        await createTenant(commands, operator(name), { orderModel: 'dyn_transport_order' });
        made.push({
          name,
          ...(await createApiClient(commands, operator(name), { name: 'bench' })),
          ids: [],
          records: RECORDS,
        });
      }
      return made;
    },
    readConfig(environment(data, ENGINES)),
  );
}

async function timed(list, ask) {
  const times = [];
  for (const each of list) {
    const begun = performance.now();
    await ask(each);
    times.push(performance.now() - begun);
  }
  return times;
}

function as(client, { name, token }) {
  client.headers.host = `${name}.localhost`;
  if (token === undefined) delete client.headers.authorization;
  else client.headers.authorization = `Bearer ${token}`;
  return client;
}

async function fillAll(port, tenants) {
  const queue = [...tenants];
  const filler = async () => {
    const client = createClient(port, 'none');
    for (let tenant = queue.pop(); tenant !== undefined; tenant = queue.pop()) {
      await signIn(client, tenant);
      await fill(client, tenant);
    }
    client.close();
  };
  await Promise.all(Array.from({ length: FILLERS }, filler));
}

async function signIn(client, tenant) {
  const credentials = {
    grant_type: 'client_credentials',
    client_id: tenant.clientId,
    client_secret: tenant.clientSecret,
  };
  tenant.token = JSON.parse(await as(client, tenant).ok('POST', '/oauth/token', credentials)).access_token;
}

/** Its first batch. */
async function fill(client, tenant) {
  const items = Array.from({ length: RECORDS }, (_, n) => place(n));
  await as(client, tenant).ok('POST', `${ASSETS}/batch`, { items });
}

/** Of tenants from all over their number, one after another. */
async function measureRequests(client, costs, tenants) {
  const filled = tenants.filter(({ token }) => token !== undefined);
  const step = Math.max(1, Math.floor(filled.length / ASKED));
  const asked = filled.filter((_, n) => n % step === 0);
  for (const tenant of asked) {
    tenant.ids = JSON.parse(await as(client, tenant).ok('GET', ASSETS)).data.map(({ id }) => id);
  }
  const turns = Array.from({ length: REQUESTS }, (_, n) => ({ n, tenant: asked[n % asked.length] }));
  const measure = async (title, ask) => {
    const once = ({ n, tenant }) => ask(as(client, tenant), tenant, n);
    await timed(turns, once);
    const times = await timed(turns, once);
    add(costs, title, 'ms', tenants.length, quantile(times, 0.5));
  };
  await measure('get by id', (to, { ids }, n) => to.ok('GET', `${ASSETS}/${ids[n % ids.length]}`));
  await measure('list, sorted', (to) => to.ok('GET', `${ASSETS}?sort=name`));
  await measure('filter of 3 characters', (to, _, n) =>
    to.ok(
      'GET',
      `${ASSETS}?filter[name]=${place(n % RECORDS).name.slice(0, 3)}`.replace(/[^\x21-\x7e]/g, encodeURIComponent),
    ),
  );
  await measure('create one', (to, tenant) => {
    tenant.records += 1;
    return to.ok('POST', ASSETS, place(tenant.records));
  });
}

/** This service with its defaults, by the interface of peers (index.js). */
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { startService } from '../service.js';
import { run } from './processes.js';

const ASSETS = '/api/v1/dynamic-assets/dyn/dyn_location/assets';

export const thisService = {
  name: 'this service',
  given: 'its defaults, its own embedded engines; batch upsert by `external_id` (up to 1000); the clean-up call',
  durability: 'each answer after its event is synchronised to the disk (DURABILITY=full)',
  async install() {
    return { version: `commit ${(await run('git', ['rev-parse', '--short', 'HEAD'])).stdout.trim()}` };
  },
  async start(directory) {
    const data = join(directory, 'data');
    const service = await startService(data, { EVENTSTORE_URL: '', MONGODB_URL: '', RABBITMQ_URL: '' });
    const { client } = service;
    const upsert = (places, batchId) =>
      client.ok('POST', `${ASSETS}/batch`, { items: places.map((place) => ({ ...place, _batch_id: batchId })) });
    return {
      service,
      pids: [service.pid],
      data,
      create: (place) => client.ok('POST', ASSETS, place),
      addBatch: upsert,
      repeatBatch: upsert,
      async ids() {
        return JSON.parse(await client.ok('GET', `${ASSETS}?perPage=1000`)).data.map(({ id }) => id);
      },
      get: (id) => client.ok('GET', `${ASSETS}/${id}`),
      async list({ page = 1, sort, filters = {} }) {
        const query = new URLSearchParams({ page, ...(sort && { sort }) });
        for (const [field, term] of Object.entries(filters)) query.set(`filter[${field}]`, term);
        return JSON.parse(await client.ok('GET', `${ASSETS}?${query}`)).meta.total;
      },
      async cleanUp(batchId) {
        const total = async () => JSON.parse(await client.ok('GET', ASSETS)).meta.total;
        const before = await total();
        const { deleted } = JSON.parse(await client.ok('POST', `${ASSETS}/clean-up`, { batch_id: batchId })).data;
        // The answer says that it is in the log; lists show a large one some seconds later, and say that they are behind.
        while ((await total()) !== before - deleted) await wait(10);
        return deleted;
      },
      async settle() {},
      stop: () => service.stop(),
    };
  },
};

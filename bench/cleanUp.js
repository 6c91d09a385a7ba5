/** A clean-up of 100,000 of 200,000 records, with lists asked meanwhile. */
import { atMost, p99 } from './figures.js';
import { place } from './places.js';
import { createClient } from './service.js';

const ASSETS = '/api/v1/dynamic-assets/dyn/dyn_location/assets';
const RECORDS = 200_000;

export async function measureCleanUp({ cli, port }) {
  const made = await cli('tenant', 'create', 'swept', '--order-model', 'dyn_transport_order');
  const client = createClient(port, 'swept.localhost');
  const token = await client.ok('POST', '/oauth/token', {
    grant_type: 'client_credentials',
    ...made.client,
    scopes: undefined,
  });
  client.headers.authorization = `Bearer ${JSON.parse(token).access_token}`;
  for (let from = 0; from < RECORDS; from += 1000) {
    const items = Array.from({ length: 1000 }, (_, i) => ({
      ...place(from + i),
      _batch_id: i % 2 === 0 ? 'kept' : 'gone',
    }));
    await client.ok('POST', `${ASSETS}/batch`, { items });
  }
  let cleaning = true;
  const listing = (async () => {
    const times = [];
    while (cleaning) {
      const start = performance.now();
      await client.ok('GET', `${ASSETS}?sort=name&perPage=25`);
      times.push(performance.now() - start);
    }
    return times;
  })();
  const start = performance.now();
  const { data } = JSON.parse(await client.ok('POST', `${ASSETS}/clean-up`, { batch_id: 'kept' }));
  const seconds = (performance.now() - start) / 1000;
  cleaning = false;
  if (data.deleted !== RECORDS / 2) throw new Error(`${data.deleted} were deleted`);
  atMost('clean-up of 100,000 of 200,000 records', seconds, 5, 's');
  p99('list while the clean-up runs', await listing, 100);
  client.close();
}

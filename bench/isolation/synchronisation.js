/** One client that sends batches of new places, each after the answer to the one before. */
import { place } from '../places.js';
import { createClient } from '../service.js';

const BATCH = 1000;
const [port, authorization, records] = process.argv.slice(2);

const client = createClient(Number(port), 'bench.localhost');
client.headers.authorization = authorization;
for (let from = 0; from < Number(records); from += BATCH) {
  const items = Array.from({ length: BATCH }, (_, i) => place(from + i));
  await client.ok('POST', '/api/v1/dynamic-assets/dyn/dyn_location/assets/batch', { items });
}
client.close();

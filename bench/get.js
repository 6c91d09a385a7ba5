/** Get by id over HTTP, beside a bare express handler that answers the same bytes. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import autocannon from 'autocannon';
import { note, share } from './figures.js';

const SECONDS = 4;
const ROUNDS = 3;
const CONNECTIONS = 16;

/** A process's thread of its own for the bare handler, as the service has its own. */
const BARE = `
const { parentPort, workerData } = require('node:worker_threads');
const express = require(workerData.express);
const app = express();
app.get('/record', (req, res) => { res.setHeader('Content-Type', 'application/json; charset=utf-8'); res.end(workerData.text); });
const server = app.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

async function requestsPerSecond(url, headers) {
  const result = await autocannon({ url, headers, connections: CONNECTIONS, duration: SECONDS });
  if (result.non2xx > 0) throw new Error(`${result.non2xx} answers were no success`);
  return result.requests.average;
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

export async function measureGet({ client, port }) {
  const base = '/api/v1/dynamic-assets/dyn/dyn_location/assets';
  const [record] = JSON.parse(await client.ok('GET', `${base}?perPage=25`)).data;
  const text = await client.ok('GET', `${base}/${record.id}`);
  const express = new URL('../node_modules/express/index.js', import.meta.url).pathname;
  const bare = new Worker(BARE, { eval: true, workerData: { text, express } });
  const [barePort] = await once(bare, 'message');
  const rates = { service: [], bare: [] };
  // Both are measured warm: the engine compiles what runs often.
  await requestsPerSecond(`http://127.0.0.1:${barePort}/record`, {});
  await requestsPerSecond(`http://127.0.0.1:${port}${base}/${record.id}`, client.headers);
  for (let round = 0; round < ROUNDS; round++) {
    rates.bare.push(await requestsPerSecond(`http://127.0.0.1:${barePort}/record`, {}));
    rates.service.push(await requestsPerSecond(`http://127.0.0.1:${port}${base}/${record.id}`, client.headers));
  }
  await bare.terminate();
  share('get by id, beside a bare express handler', median(rates.service), median(rates.bare), 0.5, 'requests/s');
  note('get by id, size of the answer', `${text.length} bytes`);
}

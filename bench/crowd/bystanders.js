/**
 * A process that asks for `/health/live` every 5 ms, and creates and lists as a tenant who works, until its input ends. It
 * prints how long these waited.
 *
 *     node bystanders.js PORT HOST AUTHORIZATION
 */
import { Agent, request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';

const [port, host, authorization] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });
let isOver = false;
process.stdin.resume().on('end', () => {
  isOver = true;
});

const ask = (method, path, body) =>
  new Promise((resolve, reject) => {
    const began = performance.now();
    const headers = { host, authorization };
    if (body !== undefined)
      Object.assign(headers, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
    const outgoing = request({ agent, host: '127.0.0.1', port, method, path, headers }, (incoming) => {
      incoming.resume().on('end', () => resolve({ ms: performance.now() - began, status: incoming.statusCode }));
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });

async function over(restMs, work) {
  const waits = [];
  const refused = {};
  for (let n = 0; !isOver; n++) {
    const { ms, status } = await work(n);
    waits.push(ms);
    if (status > 299) refused[status] = (refused[status] ?? 0) + 1;
    await wait(restMs);
  }
  waits.sort((a, b) => a - b);
  const at = (part) => Math.round(waits[Math.min(waits.length - 1, Math.floor(waits.length * part))] ?? 0);
  return { count: waits.length, p50: at(0.5), p99: at(0.99), longest: at(1), refused };
}

const run = Math.random().toString(36).slice(2);
const table = '/api/v1/dynamic-assets/dyn/dyn_item/assets';
const [health, create, list] = await Promise.all([
  over(5, () => ask('GET', '/health/live')),
  over(20, (n) => ask('POST', table, JSON.stringify({ external_id: `${run}${n}`, name: 'Tea' }))),
  over(20, () => ask('GET', `${table}?sort=name&perPage=25`)),
]);
console.log(JSON.stringify({ health, create, list }));
agent.destroy();

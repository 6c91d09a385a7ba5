/**
 * A process that sends requests all at once, throws their answers away, and prints `{ ms, statuses }`.
 *
 *     node requests.js FILE
 *
 * The file holds `{ port, bodies?: [body], requests: [{ method, path, headers, body? }], leaveAfterMs? }`. The body of a request
 * is its text, or its index in `bodies`, in base64, where many requests share some large ones.
 */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';

const { port, bodies = [], requests, leaveAfterMs } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const shared = bodies.map((body) => Buffer.from(body, 'base64'));
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
const statuses = {};
const count = (status) => {
  statuses[status] = (statuses[status] ?? 0) + 1;
};

const send = ({ method, path, headers, body: given }) =>
  new Promise((resolve) => {
    const body = typeof given === 'number' ? shared[given] : given;
    const end = (status) => {
      count(status);
      resolve();
    };
    const sent =
      body === undefined
        ? headers
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers };
    const outgoing = request({ agent, host: '127.0.0.1', port, method, path, headers: sent }, (incoming) => {
      incoming
        .resume()
        .on('end', () => end(incoming.statusCode))
        .on('error', () => end('broken'));
    });
    outgoing.on('error', (error) => end(error.code ?? 'failed'));
    outgoing.end(body);
    if (leaveAfterMs !== undefined) setTimeout(() => outgoing.destroy(), leaveAfterMs);
  });

const began = performance.now();
await Promise.all(requests.map(send));
console.log(JSON.stringify({ ms: Math.round(performance.now() - began), statuses }));
agent.destroy();

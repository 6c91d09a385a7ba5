/**
 * Endpoints of integrators on one HTTPS server: `/fast/…` answer at once, `/slow/…` after 0.5 to 1 s, and both fail
 * the first call of every fifth delivery; `/first` is fast and never fails, and `/late/…` answer after 5 s. What a delivery meets follows from its id,
 * so whoever calls with the same ids meets the same.
 */
import { createServer } from 'node:https';
import { parentPort, workerData } from 'node:worker_threads';

const SLOW_MS = { least: 500, most: 1000 };
const LATE_MS = 5_000;

const calls = new Map();
let answered = 0;
let awaited;

const number = (id, from) => Number.parseInt(id.slice(from, from + 8), 16);
const failsAtFirst = (path, id) => path !== '/first' && !path.startsWith('/late/') && number(id, 0) % 5 === 0;
const delayMs = (path, id) => {
  if (path.startsWith('/late/')) return LATE_MS;
  return path.startsWith('/slow/') ? SLOW_MS.least + (number(id, 24) % (SLOW_MS.most - SLOW_MS.least + 1)) : 0;
};

function take(request, response, body) {
  const arrivedAt = performance.timeOrigin + performance.now();
  const { url: path, headers } = request;
  const id = headers['webhook-id'];
  const known = calls.get(id);
  const call = known ?? { path, headers, body, times: 0 };
  call.times += 1;
  call.arrivedAt = arrivedAt;
  calls.set(id, call);
  const status = call.times === 1 && failsAtFirst(path, id) ? 500 : 204;
  const answer = () => {
    response.writeHead(status).end();
    if (status !== 204) return;
    answered += 1;
    if (answered === awaited) parentPort.postMessage({ arrivedAt });
  };
  const wait = delayMs(path, id);
  if (wait === 0) answer();
  else setTimeout(answer, wait);
}

const server = createServer(workerData, (request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => take(request, response, Buffer.concat(chunks)));
});

const commands = {
  /** Forgets everything, and tells when so many deliveries have been answered with success. */
  await({ count }) {
    calls.clear();
    answered = 0;
    awaited = count;
    parentPort.postMessage({});
  },
  calls() {
    parentPort.postMessage([...calls.values()]);
  },
};
parentPort.on('message', (command) => commands[command.kind](command));

server.listen(0, '127.0.0.1', () => parentPort.postMessage({ port: server.address().port }));

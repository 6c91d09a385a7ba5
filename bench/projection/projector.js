/** The projector in a thread of its own, as in the service, that notes when each of its transactions passes from one part to the next. */
import { readFileSync } from 'node:fs';
import { BroadcastChannel, parentPort, workerData } from 'node:worker_threads';
import { openSqliteEventStore } from '../../dist/adapters/eventstore/sqlite/store.js';
import { openSqliteReadModelWriter } from '../../dist/adapters/readmodels/sqlite/write/writer.js';
import { storeWith } from '../../dist/ports/eventStore.js';
import { projections } from '../../dist/projector/projections.js';
import { runProjections } from '../../dist/projector/runner.js';

/** When the last of each happened. */
const at = { heard: 0, read: 0, wanted: 0, begun: 0, applied: 0, told: 0 };
let turns = [];
const now = () => performance.now();

const { get, set } = Object.getOwnPropertyDescriptor(BroadcastChannel.prototype, 'onmessage');
Object.defineProperty(BroadcastChannel.prototype, 'onmessage', {
  get,
  set(listener) {
    set.call(this, (message) => {
      at.heard = now();
      listener(message);
    });
  },
});
const { postMessage } = BroadcastChannel.prototype;
BroadcastChannel.prototype.postMessage = function (message) {
  at.told = now();
  postMessage.call(this, message);
};

/** Nanoseconds that this thread has had a processor. */
const processorNs = () => Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ', 1)[0]);

const log = await openSqliteEventStore({ file: workerData.log });
const writer = await openSqliteReadModelWriter({ file: workerData.readModels });

const eventStore = storeWith(log, {
  async *subscribe(options) {
    for await (const slice of log.subscribe(options)) {
      at.read = now();
      yield slice;
    }
  },
});

const { begin, commit } = writer;
writer.begin = async () => {
  at.wanted = now();
  await begin.call(writer);
  at.begun = now();
};
writer.commit = async (...asked) => {
  at.applied = now();
  await commit.apply(writer, asked);
  turns.push({ ...at, done: now() });
};

const stopping = new AbortController();
parentPort.on('message', (message) => {
  if (message === 'figures') parentPort.postMessage({ turns, processorNs: processorNs() });
  if (message === 'figures') turns = [];
  if (message === 'stop') stopping.abort();
});
const running = runProjections({ eventStore, writer, projections }, stopping.signal);
parentPort.postMessage('running');
await running;
await log.close();
await writer.close();
parentPort.close();

/** The embedded message broker: durable jobs in one SQLite file, shared by threads and processes. */
import { realpathSync } from 'node:fs';
import { BroadcastChannel } from 'node:worker_threads';
import type { MessageBroker } from '../../../ports/messageBroker.js';
import { sleep } from '../../../supervision/waiting.js';
import { lockFile } from '../../openSqlite.js';
import { RunningConsumers } from '../consuming.js';
import { Consumer } from './consumer.js';
import { JobStore } from './jobStore.js';

/** Short, so that a killed process's messages are soon redelivered. A living one renews its lease well before the end. */
const DEFAULT_LEASE_MS = 5_000;
/** How often a process that would lead looks whether another one still does. */
const LEADER_CHECK_MS = 500;

type SqliteBrokerOptions = {
  /** Path of the database file; created if missing. */
  readonly file: string;
  /** How long a message stays with a consumer that does not renew its lease. Default 5,000. */
  readonly leaseMs?: number;
};

/** @throws SqliteError if the file cannot be opened */
export async function openSqliteBroker({
  file,
  leaseMs = DEFAULT_LEASE_MS,
}: SqliteBrokerOptions): Promise<MessageBroker> {
  const store = new JobStore(file, leaseMs);
  const consumers = new RunningConsumers<Consumer>();
  const wake = (queue: string): void => {
    for (const consumer of consumers.of(queue)) consumer.wake();
  };
  // Wakes consumers in other threads. Other processes poll.
  const channel = new BroadcastChannel(`dynamic-assets:broker:${realpathSync(file)}`);
  channel.onmessage = (message) => wake(String(Object(message).data));
  channel.unref();

  return {
    async publish(queue, messages) {
      store.publish(queue, messages);
      wake(queue);
      channel.postMessage(queue);
    },
    storeCheckpoint: async (name, checkpoint) => store.storeCheckpoint(name, checkpoint),
    checkpoint: async (name) => store.checkpoint(name),
    consume: (queue, options, handle) =>
      consumers.run(queue, options, (running) => new Consumer(store, { ...running, queue, handle, leaseMs })),
    async lead(name, signal, work) {
      const ending = consumers.ending(signal);
      while (!ending.aborted) {
        const release = lockFile(`${file}-${name}.lock`);
        if (release !== undefined) return work(ending).finally(release);
        await sleep(LEADER_CHECK_MS, ending);
      }
    },
    depth: async (queue) => store.depth(queue),
    ping: async () => void store.checkpoint(''),
    async close() {
      await consumers.stop();
      channel.close();
      store.close();
    },
  };
}

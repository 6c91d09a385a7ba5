/** The EventStoreDB of the benchmarks: the one that EVENTSTORE_URL names, or a double of its protocol where none is named. */
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';

const DOUBLE = fileURLToPath(new URL('./double.cjs', import.meta.url));
/** Events in one append. */
const TOGETHER = 1_000;
/** The services of a run have data directories of their own, and share what is sealed in the log. */
const SECRETS_KEY = Buffer.alloc(32, 'bench').toString('base64');

const { EVENTSTORE_URL: url } = process.env;

/** Whether EVENTSTORE_URL names a server. */
export const isNamed = url !== undefined && url !== '';

/** What the log is, for the output. */
export const LOG_NAME = isNamed ? 'EventStoreDB' : 'double of EventStoreDB';

/** @param foreign events of others that are to be in the log */
export async function logUnderTest(foreign) {
  if (!isNamed) return startDouble(foreign);
  await writeForeign(foreign);
  return { settings: settingsOf(url), tenant: `bench-${randomUUID().slice(0, 8)}`, stop: () => undefined };
}

const settingsOf = (EVENTSTORE_URL) => ({ EVENTSTORE_URL, SECRETS_KEY, MONGODB_URL: '', RABBITMQ_URL: '' });

/** @returns the double as a process of its own; `calls` are those it has got that look at its log */
async function startDouble(foreign) {
  const child = fork(DOUBLE, [String(foreign)]);
  const [{ url: own }] = await once(child, 'message');
  return {
    settings: settingsOf(own),
    tenant: 'bench',
    async calls() {
      child.send('count');
      const [{ calls }] = await once(child, 'message');
      return calls;
    },
    stop: () => child.disconnect(),
  };
}

async function writeForeign(count) {
  const client = EventStoreDBClient.connectionString(url);
  for (let written = 0; written < count; written += TOGETHER) {
    const events = Array.from({ length: TOGETHER }, () => jsonEvent({ type: 'OthersHappened', data: {} }));
    await client.appendToStream('others-1', events);
  }
  await client.dispose();
}

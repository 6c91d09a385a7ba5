/**
 * A process that appends to an EventStoreDB, which the test takes away from it. Its argument is the URL.
 * `one` on its input appends an event; `many` begins to append with many writers, until `stop`; `memory` tells of it.
 * It prints what was acknowledged, and ends by itself when its input does: with 0, if nothing else has ended it.
 */
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { openEventStoreDb } from '#app/adapters/eventstore/eventstoredb/store.js';
import { EventStoreUnavailableError } from '#app/ports/eventStore.js';

const WRITERS = 16;

const store = await openEventStoreDb({ url: process.argv[2], timeoutMs: 2_000 });
let writing = false;

const metadata = {
  tenant: 'acme',
  actor: { kind: 'system', id: 'test' },
  correlationId: 'test',
  causationId: 'test',
  occurredAt: '2026-11-21T03:11:47.123456Z',
  schemaVersion: 1,
};

/** @returns whether it was acknowledged; where the server is away, nobody knows */
async function append(bytes) {
  const id = randomUUID();
  try {
    const data = { filler: 'x'.repeat(bytes) };
    await store.append(`order-${id}`, [{ id, type: 'ThingHappened', data, metadata }], 'no-stream');
    console.log(`acknowledged ${id}`);
    return true;
  } catch (error) {
    if (!(error instanceof EventStoreUnavailableError)) throw error;
    return false;
  }
}

async function write() {
  while (writing) await append(Math.random() < 0.9 ? Math.random() * 2_000 : 100_000);
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'one') while (!(await append(200)));
  if (line === 'memory') {
    global.gc();
    console.log(`memory ${process.memoryUsage().heapUsed}`);
  }
  if (line === 'many') {
    writing = true;
    for (let n = 0; n < WRITERS; n++) void write();
  }
  if (line === 'stop') writing = false;
}
await store.close();

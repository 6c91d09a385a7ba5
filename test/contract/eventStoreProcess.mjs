/**
 * A second process on an event log.
 * `append <file> <stream> <count>` appends events one by one and then has nothing left to do.
 * `forever <file>` appends to some streams at once, three events each time, and prints what was acknowledged.
 */
import { randomUUID } from 'node:crypto';
import { openSqliteEventStore } from '#app/adapters/eventstore/sqlite/store.js';

const [mode, file, stream, count] = process.argv.slice(2);
const store = await openSqliteEventStore({ file });

const metadata = {
  tenant: 'acme',
  actor: { kind: 'system', id: 'test' },
  correlationId: 'test',
  causationId: 'test',
  occurredAt: '2026-11-21T03:11:47.123456Z',
  schemaVersion: 1,
};

function event(data) {
  return { id: randomUUID(), type: 'ThingHappened', data, metadata };
}

async function appendForever(to) {
  for (let n = 0; ; n++) {
    const append = randomUUID();
    const filler = 'x'.repeat((n * 7_919) % 20_000);
    await store.append(
      to,
      [0, 1, 2].map((part) => event({ append, part, filler })),
      'any',
    );
    process.stdout.write(`${append}\n`);
  }
}

if (mode === 'append') {
  for (let number = 0; number < Number(count); number++) await store.append(stream, [event({ number })], 'any');
} else {
  await Promise.all(['a', 'b', 'c', 'd'].map((name) => appendForever(`order-${name}`)));
}

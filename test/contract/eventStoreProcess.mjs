/**
 * A second process on an event log: `<file> <stream> <count>` appends events one by one and then has nothing left to do.
 */
import { randomUUID } from 'node:crypto';
import { openSqliteEventStore } from '#app/adapters/eventstore/sqlite/store.js';

const [file, stream, count] = process.argv.slice(2);
const store = await openSqliteEventStore({ file });

const metadata = {
  tenant: 'acme',
  actor: { kind: 'system', id: 'test' },
  correlationId: 'test',
  causationId: 'test',
  occurredAt: '2026-11-21T03:11:47.123456Z',
  schemaVersion: 1,
};

for (let number = 0; number < Number(count); number++) {
  await store.append(stream, [{ id: randomUUID(), type: 'ThingHappened', data: { number }, metadata }], 'any');
}

/** `migrate --before`: what has ended goes into an archive, the rest into the new log, and both together are the source. */
import { join } from 'node:path';
import { openSqliteEventStore } from '#app/adapters/eventstore/sqlite/store.js';
import { newId } from '#app/commands/clock.js';
import type { EventStore } from '#app/ports/eventStore.js';
import { metadata, storedSlices } from '../contract/eventStoreFixtures.js';
import { Workplace } from './cli.js';

let workplace: Workplace;
beforeEach(async () => {
  workplace = await Workplace.make();
});
afterEach(() => workplace.remove());

const BEFORE = '2026-01-01T00:00:00Z';
const OLD = '2025-06-01T00:00:00.000000Z';
const NEW = '2026-02-01T00:00:00.000000Z';

async function withLog<T>(name: string, use: (log: EventStore) => Promise<T>): Promise<T> {
  const log = await openSqliteEventStore({ file: join(workplace.directory, name, 'events.db') });
  try {
    return await use(log);
  } finally {
    await log.close();
  }
}

const streamsOf = (name: string) =>
  withLog(name, async (log) => {
    const slices = await storedSlices(log, { after: 0, maxCount: 1 });
    return new Set(slices.flatMap(({ events }) => events.map(({ stream }) => stream)));
  });

type Happened = readonly [type: string, data?: object, at?: string];
const became = (to: string, at = OLD): Happened => ['OrderStatusChanged', { status: { from: 'saved', to } }, at];
const created: Happened = ['OrderCreated', { status: 'saved' }];
const requested = (orderId: string, at = OLD): Happened => ['DeliveryRequested', { webhookId: 'w', orderId }, at];
const succeeded = (at = OLD): Happened => ['DeliverySucceeded', {}, at];

async function makeSource(): Promise<void> {
  await workplace.json(['tenant', 'create', 'acme', '--order-model', 'dyn_stock_order']);
  await withLog('data', async (log) => {
    const append = (stream: string, ...happened: readonly Happened[]) =>
      log.append(
        stream,
        happened.map(([type, data = {}, occurredAt = OLD]) => ({
          id: newId(),
          type,
          data,
          metadata: { ...metadata, occurredAt },
        })),
        'any',
      );
    await append('order-acme.completed', created, became('completed'));
    await append('delivery-acme.1', requested('completed'), succeeded());
    await append('order-acme.rejected', created, became('rejected'));
    await append('order-acme.submitted', created, became('submitted'));
    await append('delivery-acme.2', requested('submitted'), succeeded());
    await append('order-acme.undelivered', created, became('submitted'));
    await append('order-acme.waits', created, became('completed'));
    await append('delivery-acme.3', requested('waits'));
    await append('order-acme.late', created, became('completed', NEW));
    await append('order-acme.resent', created, became('completed'));
    await append('delivery-acme.4', requested('resent'), succeeded());
    await append('delivery-acme.5', requested('resent', NEW), succeeded(NEW));
    await append('delivery-acme.6', requested(''), succeeded());
    await append('order-other.known', created, became('completed'));
    await append('webhooks-other', ['WebhookDisabled', { id: 'w' }]);
    await append('order-other.missed', created, became('completed'));
  });
}

const command = ['migrate', '--from', 'data', '--to', 'new', '--before', BEFORE, '--archive', 'archive'];

test('orders that have ended go with their deliveries, and both parts together are the source', async () => {
  await makeSource();
  const report = await workplace.json(command);
  const archived = new Set([
    'order-acme.completed',
    'delivery-acme.1',
    'order-acme.rejected',
    'order-acme.submitted',
    'delivery-acme.2',
    'order-other.known',
  ]);
  expect(await streamsOf('archive')).toEqual(archived);
  const others = [...(await streamsOf('data'))].filter((stream) => !archived.has(stream));
  expect(await streamsOf('new')).toEqual(new Set(others));
  const { kept, archived: part, whole } = Object(report);
  for (const each of ['streams', 'appends', 'events']) expect(kept[each] + part[each]).toBe(whole[each]);
  // It can be run again, and the archive can be copied as any log.
  expect(await workplace.json(command)).toMatchObject({ kept: { copied: 0 }, archived: { copied: 0 } });
  const copy = await workplace.json(['migrate', '--from', 'archive', '--to', 'copy']);
  expect(copy).toMatchObject({ sha256: part.sha256, events: part.events });
});

test.each([
  ['an archive without a time', command.filter((word) => word !== '--before' && word !== BEFORE), 'go together'],
  ['a time without an archive', command.slice(0, -2), 'go together'],
  ['a time of yesterday', command.with(6, new Date(Date.now() - 86_400_000).toISOString()), 'two days ago'],
  ['a time without a zone', command.with(6, '2026-01-01T00:00:00'), 'with its zone'],
  ['the archive in the place of the source', command.with(8, 'data'), 'a place of its own'],
])('refused: %s', async (_, words, message) => {
  const { code, stderr } = await workplace.run(words);
  expect(stderr).toContain(message);
  expect(code).toBeGreaterThan(0);
});

/** Operations of a table and the history of a record, from rows that were made of events. */
import { randomUUID } from 'node:crypto';
import { packIds } from '#app/domain/referenceTable/events.js';
import { orderStream, tableStream, tenantStream } from '#app/domain/streams.js';
import type { RecordedEvent } from '#app/ports/eventStore.js';
import { slicesOf } from '#app/projections/rows.js';
import { type ActivityEntry, activityPage, OPERATIONS } from '#app/queries/activity.js';
import { where } from '#app/queries/asking.js';
import { doneBy, operationOf, recordHistory } from '#app/queries/recordHistory.js';
import { time } from '../../contract/rowStoreFixture.js';
import { MemoryRows } from '../../support/memoryRows.js';

const [A, B, C] = ['a', 'b', 'c'].map((letter) => `00000000-0000-7000-8000-00000000000${letter}`) as [
  string,
  string,
  string,
];
const UNITS = tableStream('acme', 'dyn_unit_code');
const UNIT_TABLE = { tenant: 'acme', table: 'dyn_unit_code' };
const UNIT_SPACE = { tenant: 'acme', space: 'dyn_unit_code' };

/** The tenant's log: each request is an append of some events to one stream. */
class Log {
  readonly #rows = new MemoryRows();
  readonly reads = this.#rows.reads;
  readonly #revisions = new Map<string, number>();
  #position = 0;

  /** @param request its causation id @returns the first event */
  async append(stream: string, events: readonly [type: string, data: unknown][], request: string = randomUUID()) {
    const recorded = events.map(([type, data]): RecordedEvent => {
      const revision = (this.#revisions.get(stream) ?? -1) + 1;
      this.#revisions.set(stream, revision);
      this.#position += 1;
      const by = { actor: { kind: 'client', id: 'robot' }, correlationId: request, causationId: request } as const;
      const metadata = { tenant: 'acme', occurredAt: time(this.#position), schemaVersion: 1, ...by };
      return { id: randomUUID(), type, data, stream, revision, position: this.#position, metadata };
    });
    for await (const slice of slicesOf('acme', recorded, this.#rows, { deliveryLogDays: 30 })) {
      while (!(await this.#rows.apply('acme', slice)));
    }
    const [first] = recorded;
    if (first === undefined) throw new Error('No event.');
    return first;
  }
}

async function newTenant(): Promise<Log> {
  const log = new Log();
  const created = { name: 'acme', displayName: 'Acme', orderModel: 'dyn_stock_order' };
  await log.append(tenantStream('acme'), [['TenantCreated', created]]);
  return log;
}

const created = (id: string, code: string) => ({ id, fields: { code, value: code } });
const batch = (batchId: string | null, more: object): [string, unknown] => [
  'BatchUpserted',
  { batchId, created: [], changed: [], seen: '', ...more },
];

it('a batch of several events is one operation; so is an undo in pieces, between which others write', async () => {
  const log = await newTenant();
  const first = await log.append(UNITS, [
    batch('monday', { created: [created(A, 'a')] }),
    batch('tuesday', { created: [created(B, 'b')] }),
  ]);
  const seen = await log.append(UNITS, [batch('tuesday', { seen: packIds([A]) })]);
  const cleanUp = await log.append(UNITS, [['TableCleanedUp', { batchId: 'none', deleted: 2 }]]);
  const undo = await log.append(
    UNITS,
    [batch('monday', { created: [created(A, 'a')], undoes: cleanUp.revision })],
    'undo',
  );
  await log.append(UNITS, [['RecordCreated', created(C, 'c')]]);
  await log.append(UNITS, [batch('tuesday', { created: [created(B, 'b')], undoes: cleanUp.revision })], 'undo');

  const conditions = where({ table: UNIT_TABLE.table, kind: OPERATIONS });
  const { entries, next } = await activityPage(log.reads, 'acme', { conditions, limit: 10 });
  expect(next).toBeUndefined();
  const none = { created: 0, updated: 0, seen: 0, deleted: 0 };
  expect(entries).toMatchObject([
    {
      kind: 'table.undo',
      revision: undo.revision,
      counts: { ...none, created: 2 },
      details: { undoes: String(cleanUp.revision), batch_ids: ['monday', 'tuesday'] },
    },
    { kind: 'table.clean_up', revision: cleanUp.revision, counts: { ...none, deleted: 2 } },
    { kind: 'table.batch', revision: seen.revision, counts: { ...none, seen: 1 } },
    {
      kind: 'table.batch',
      revision: first.revision,
      counts: { ...none, created: 2 },
      at: first.metadata.occurredAt,
    },
  ]);

  const done = async ({ revision }: RecordedEvent) => {
    const operation = await operationOf(log.reads, UNIT_SPACE, revision);
    const { transitions } = await doneBy(log.reads, UNIT_SPACE, operation as ActivityEntry);
    return transitions.map(({ id, before, after }) => `${before ? 'was' : 'new'} ${id} ${after ? 'is' : 'gone'}`);
  };
  expect(await done(first)).toEqual([`new ${A} is`, `new ${B} is`]);
  expect(await done(seen)).toEqual([]);
  expect(await done(cleanUp)).toEqual([`was ${A} gone`, `was ${B} gone`]);
  for (const revision of [first.revision + 1, undo.revision, undo.revision + 1])
    expect(await operationOf(log.reads, UNIT_SPACE, revision)).toBeUndefined();
});

it('the history of a record names the event and the operation of each change, a part by its order', async () => {
  const log = await newTenant();
  await log.append(UNITS, [['RecordCreated', created(A, 'a')]]);
  const both = await log.append(UNITS, [
    batch('monday', { created: [created(B, 'b')] }),
    batch('tuesday', { changed: [{ id: A, set: { value: 'new' } }] }),
  ]);
  await log.append(UNITS, [batch('tuesday', { seen: packIds([B]) })]);
  const cleanUp = await log.append(UNITS, [['TableCleanedUp', { batchId: 'none', deleted: 2 }]]);

  const page = await recordHistory(log.reads, UNIT_SPACE, { id: A, limit: 2 });
  const [code, gone] = [{ from: 'a', to: null }, null];
  expect(page).toMatchObject({
    entries: [
      { change: 'delete', operation: cleanUp.revision, fields: { code, value: { from: 'new', to: gone } } },
      { change: 'update', operation: both.revision, fields: { value: { from: 'a', to: 'new' } } },
    ],
  });
  expect(page?.entries.map(({ eventType }) => eventType)).toEqual(['TableCleanedUp', 'BatchUpserted']);
  expect(page?.entries[1]?.event).toMatchObject({ revision: both.revision + 1, actor: { id: 'robot' } });
  const rest = await recordHistory(log.reads, UNIT_SPACE, { id: A, limit: 2, before: page?.next });
  expect(rest).toMatchObject({ entries: [{ change: 'create', operation: undefined }], next: undefined });
  expect(await recordHistory(log.reads, UNIT_SPACE, { id: C, limit: 2 })).toBeUndefined();

  const part = { table: 'dyn_order_line', id: C, fields: { order_id: B, quantity: 1 } };
  const order = { table: 'dyn_stock_order', fields: {}, status: 'pending', parts: [part] };
  const made = await log.append(orderStream('acme', B), [['OrderCreatedWithParts', order]]);
  const ofPart = await recordHistory(log.reads, { ...UNIT_SPACE, space: 'dyn_order_line' }, { id: C, limit: 2 });
  expect(ofPart?.entries).toMatchObject([{ change: 'create', eventType: made.type, event: { eventId: made.id } }]);
});

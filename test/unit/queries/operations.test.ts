/** Operations of a table, the history of a record and sync sessions, from rows that were made of events. */
import { randomUUID } from 'node:crypto';
import { packIds } from '#app/domain/referenceTable/events.js';
import { orderStream, syncStream, tableStream, tenantStream } from '#app/domain/streams.js';
import type { RecordedEvent } from '#app/ports/eventStore.js';
import { slicesOf } from '#app/projections/rows.js';
import { activityPage, entriesOf, OPERATIONS } from '#app/queries/activity.js';
import { where } from '#app/queries/asking.js';
import { recordHistory, tableDifferences } from '#app/queries/recordHistory.js';
import { syncSession, syncSessions } from '#app/queries/syncs.js';
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

  async entry(position: number) {
    const conditions = [{ kind: 'equals', field: 'position', anyOf: [position] }] as const;
    for await (const entry of entriesOf(this.reads, 'acme', { conditions })) return entry;
    throw new Error(`Nothing is told of ${position}.`);
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
  const seen = await log.append(UNITS, [batch('tuesday', { seen: packIds([A]), from: [[1, 'monday']] })]);
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

  const done = async ({ position }: RecordedEvent) => {
    const entry = await log.entry(position);
    const { differences } = await tableDifferences(log.reads, 'acme', { ...entry, table: UNIT_TABLE.table });
    return differences.map(({ change, id }) => `${change} ${id}`);
  };
  expect(await done(first)).toEqual([`create ${A}`, `create ${B}`]);
  expect(await done(seen)).toEqual([]);
  expect(await done(cleanUp)).toEqual([`delete ${A}`, `delete ${B}`]);
  expect(await done(undo)).toEqual([`create ${A}`, `create ${B}`]);
});

it('the history of a record names the event and the operation of each change, a part by its order', async () => {
  const log = await newTenant();
  await log.append(UNITS, [['RecordCreated', created(A, 'a')]]);
  const both = await log.append(UNITS, [
    batch('monday', { created: [created(B, 'b')] }),
    batch('tuesday', { changed: [{ id: A, set: { value: 'new' }, was: ['a'] }], from: [[1, null]] }),
  ]);
  await log.append(UNITS, [batch('tuesday', { seen: packIds([B]), from: [[1, 'monday']] })]);
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

it('a sync session has the batches and the clean-up with its id, and says who began it and what became of it', async () => {
  const log = await newTenant();
  const [one, two, three] = [A, B, C].map((uuid) => `sync-session-${uuid}`);
  const syncs = syncStream('acme', 'dyn_unit_code');
  await log.append(syncs, [['SyncStarted', { id: one }]]);
  await log.append(UNITS, [batch(one ?? '', { created: [created(A, 'a'), created(B, 'b')] })]);
  const second = await log.append(syncs, [['SyncStarted', { id: two }]]);
  // It was decided before.
  await log.append(UNITS, [batch(one ?? '', { created: [created(C, 'c')] })]);
  await log.append(UNITS, [
    batch(two ?? '', { changed: [{ id: A, set: { value: 'new' }, was: ['a'] }], from: [[1, one]] }),
    batch(two ?? '', { seen: packIds([B]), from: [[1, one]] }),
  ]);
  await log.append(syncs, [['SyncFailed', { id: two, reason: 'A name is missing.', keys: ['x', 'y'] }]]);
  await log.append(syncs, [['SyncClosed', { id: two, after: 3 }]]);
  const cleanUp = await log.append(UNITS, [['TableCleanedUp', { batchId: two, deleted: 1 }]]);
  await log.append(syncs, [['SyncCommitted', { id: two, deleted: 1, operationId: String(cleanUp.revision) }]]);
  const last = await log.append(syncs, [['SyncStarted', { id: three }]]);

  const sessions = [];
  for await (const session of syncSessions(log.reads, UNIT_TABLE, undefined)) sessions.push(session);
  expect(sessions).toMatchObject([
    { id: three, supersededAt: undefined },
    {
      id: two,
      actor: { kind: 'client', id: 'robot' },
      supersededAt: last.metadata.occurredAt,
      refused: { reason: 'A name is missing.', keys: new Set(['x', 'y']) },
      committed: { deleted: 1, operationId: String(cleanUp.revision) },
    },
    { id: one, supersededAt: second.metadata.occurredAt },
  ]);
  expect(await syncSession(log.reads, UNIT_TABLE, two ?? '')).toEqual(sessions[1]);
  const older = [];
  const before = sessions[1]?.revision;
  for await (const session of syncSessions(log.reads, UNIT_TABLE, before)) older.push(session);
  expect(older).toEqual(sessions.slice(2));

  expect(sessions[0]?.committed).toBeUndefined();
});

it('a clean-up alone ends a sync session, and an undo of what it did changes nothing of it', async () => {
  const log = await newTenant();
  const one = `sync-session-${A}`;
  await log.append(syncStream('acme', 'dyn_unit_code'), [['SyncStarted', { id: one }]]);
  await log.append(UNITS, [batch(one, { created: [created(A, 'a'), created(B, 'b')] })]);
  const cleanUp = await log.append(UNITS, [['TableCleanedUp', { batchId: one, deleted: 0 }]]);
  const session = await syncSession(log.reads, UNIT_TABLE, one);
  expect(session?.committed).toEqual({ deleted: 0, operationId: String(cleanUp.revision) });
  await log.append(UNITS, [['RecordChanged', { id: A, set: { value: 'x' }, was: ['a'] }]]);
  await log.append(UNITS, [batch(one, { seen: packIds([A]), from: [[1, null]], undoes: cleanUp.revision })]);
  expect(await syncSession(log.reads, UNIT_TABLE, one)).toEqual(session);
});

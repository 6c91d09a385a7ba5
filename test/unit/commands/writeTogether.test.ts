/** Changes that wait for one table at the same time: what each of them is answered, and what is appended. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openApplication } from '#app/commands/application.js';
import { type Caller, type Commands, RequestDeadline } from '#app/commands/context.js';
import { DecisionRecords, type Wanted, writeRecord } from '#app/commands/referenceTables/tableWriter.js';
import type { AssetType } from '#app/domain/assetTypes/assetType.js';
import type { RecordInput } from '#app/domain/assetTypes/recordSchema.js';
import { standardTables } from '#app/domain/identity/tenantTables.js';
import { AnswerTooLargeError } from '#app/domain/jsonSize.js';
import { createRecord, updateRecord } from '#app/domain/referenceTable/decide.js';
import type { ReferenceTableEvent } from '#app/domain/referenceTable/events.js';
import { EventStoreUnavailableError, type EventToAppend, WrongExpectedRevisionError } from '#app/ports/eventStore.js';
import { DeadlineError } from '#app/supervision/deadline.js';
import { caller, metadata } from '../../contract/eventStoreFixtures.js';
import { gate } from '../../contract/recordingConsumer.js';

function itemType(): AssetType {
  const found = standardTables('dyn_stock_order').get('dyn_item');
  if (found?.uniqueField !== 'external_id') throw new Error('dyn_item has no external_id.');
  return found;
}
const item = itemType();
const idOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** A log of one table with its rows, and a gate before each append. */
function openTable() {
  const appended: (readonly EventToAppend[])[] = [];
  const failures: Error[] = [];
  const waitedFor: number[] = [];
  let revision = -1;
  let ids = 0;
  /** Of one snapshot. */
  const mostRecords = { value: Number.POSITIVE_INFINITY };
  let mayAppend = Promise.resolve();
  let rows = new DecisionRecords(item, [], new Map());
  const commands = {
    eventStore: {
      append: async (_stream: string, events: readonly EventToAppend[], expected: number | 'no-stream') => {
        await mayAppend;
        const failure = failures.shift();
        if (failure !== undefined) throw failure;
        if ((expected === 'no-stream' ? -1 : expected) !== revision) throw new WrongExpectedRevisionError('t', 0, 1);
        appended.push(events);
        rows = rows.after(events as unknown as readonly ReferenceTableEvent[], metadata.occurredAt);
        revision += events.length;
        return { revision, position: revision + 1 };
      },
      lastAppend: async () => (revision < 0 ? undefined : { revision, position: revision + 1 }),
    },
    queries: {
      records: {
        snapshot: async (_table: unknown, { keys, ids }: Wanted) => {
          if (ids.length > mostRecords.value) throw new AnswerTooLargeError('The records are too large together.');
          const found = [...keys.map((key) => rows.byKey(key)), ...ids.map((id) => rows.byId(id))].filter(
            (each) => each !== undefined,
          );
          return { revision, lastEventAt: '', records: found, formerIds: new Map() };
        },
      },
    },
    progress: {
      waitFor: async (_tenant: string, position: number) => {
        waitedFor.push(position);
        return true;
      },
    },
    rows: { rows: async () => ({ rows: [] }) },
    now: () => metadata.occurredAt,
    newId: () => idOf(9_000 + ++ids),
  } as unknown as Commands;
  const application = openApplication(commands);
  const create = (id: number, key: string, as: Partial<Caller> = {}) => {
    const input: RecordInput = { fields: { external_id: key, name: key } } as RecordInput;
    const wanted = { keys: [key], ids: [idOf(id)] };
    const written = writeRecord(application, { ...caller, ...as }, item, wanted, (known) => {
      const decision = createRecord(item, input, idOf(id), known);
      if (!decision.ok) throw new Error(Object.values(decision.errors).flat().join());
      return decision.events;
    });
    // Looked at later.
    written.catch(() => undefined);
    return written;
  };
  const rename = (id: number, name: string) =>
    writeRecord(application, caller, item, { keys: [], ids: [idOf(id)] }, (known) => {
      const current = known.byId(idOf(id));
      if (current === undefined) throw new Error('There is no such record.');
      const decision = updateRecord(item, current, { fields: { name } } as RecordInput, known);
      if (!decision.ok) throw new Error('refused');
      return decision.events;
    });
  /** A first change, of the key A, whose append waits for `release`: those that come meanwhile are taken together. */
  const appending = async () => {
    const { held, release } = gate();
    mayAppend = held;
    const first = create(1, 'A');
    await nextTurn();
    return { first, release };
  };
  return { create, rename, appended, failures, waitedFor, appending, application, mostRecords };
}

test('those that come while one is appended are appended together, each with its own answer', async () => {
  const { create, appended, appending } = openTable();
  const { first, release } = await appending();
  const rest = [create(2, 'B'), create(3, 'C'), create(4, 'B'), create(3, 'D')];
  release();
  const outcomes = await Promise.allSettled([first, ...rest]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected']);
  expect(appended.map((events) => events.length)).toEqual([1, 2]);
  await expect(rest[2]).rejects.toThrow('B');
  await expect(rest[3]).rejects.toThrow(idOf(3));
});

test('a change sees what was decided before it, and answers with the record as it was then', async () => {
  const { create, rename, appended, appending } = openTable();
  const { first, release } = await appending();
  const waiting = [first, create(2, 'B'), rename(2, 'second'), rename(2, 'third'), rename(2, 'third')];
  release();
  const written = await Promise.all(waiting);
  expect(written.slice(2).map(({ state }) => state.byId(idOf(2))?.fields.name)).toEqual(['B', 'second', 'third']);
  expect(written.map(({ events }) => events.length)).toEqual([1, 1, 1, 1, 0]);
  expect(written.at(-1)?.position).toBe(0);
  expect(appended.map((events) => events.map(({ type }) => type))).toEqual([
    ['RecordCreated'],
    ['RecordCreated', 'RecordChanged', 'RecordChanged'],
  ]);
});

test('one with a key is appended alone: its repetition is answered with the record as its append left it', async () => {
  const { create, rename, appended, appending } = openTable();
  const { first, release } = await appending();
  const keyed = create(2, 'B', { key: { id: idOf(7), body: 'hash' } });
  const rest = [rename(1, 'first'), create(3, 'C')];
  release();
  await Promise.all([first, keyed, ...rest]);
  expect(appended.map((events) => events.map(({ type, metadata: { key } }) => [type, key?.id]))).toEqual([
    [['RecordCreated', undefined]],
    [['RecordCreated', idOf(7)]],
    [
      ['RecordChanged', undefined],
      ['RecordCreated', undefined],
    ],
  ]);
});

test('those that are too large together are written one by one', async () => {
  const { create, appended, appending, mostRecords } = openTable();
  const { first, release } = await appending();
  const rest = [create(2, 'B'), create(3, 'C')];
  mostRecords.value = 1;
  release();
  await Promise.all([first, ...rest]);
  expect(appended.map((events) => events.length)).toEqual([1, 1, 1]);
});

test('a failed append is the answer of all, also of those that it would have refused', async () => {
  const { create, failures, appending } = openTable();
  const { first, release } = await appending();
  failures.push(new EventStoreUnavailableError('The log is away.'), new EventStoreUnavailableError('The log is away.'));
  const rest = [create(2, 'B'), create(3, 'B')];
  release();
  for (const each of [first, ...rest]) await expect(each).rejects.toThrow('The log is away.');
});

test('one whose time ends while it is decided alone is told that nothing was written, and nothing is', async () => {
  const { application, appended } = openTable();
  const deadline = new RequestDeadline(60_000, () => new DeadlineError('It took too long.'));
  const late = writeRecord(application, { ...caller, deadline }, item, { keys: ['A'], ids: [idOf(1)] }, (known) => {
    deadline.cancel(new DeadlineError('It took too long.'));
    deadline.end();
    const decision = createRecord(item, { fields: { external_id: 'A', name: 'A' } } as RecordInput, idOf(1), known);
    return decision.ok ? decision.events : [];
  });
  await expect(late).rejects.toThrow(DeadlineError);
  expect(deadline.mayHaveWritten).toBe(false);
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  expect(appended).toEqual([]);
});

test('a decision waits until the rows show what was written before', async () => {
  const { create, rename, waitedFor, appended } = openTable();
  await create(1, 'A');
  await expect(create(2, 'A')).rejects.toThrow('A');
  const { state } = await rename(1, 'second');
  expect(state.byId(idOf(1))?.fields).toEqual({ external_id: 'A', name: 'A' });
  expect(waitedFor).toEqual([1, 1]);
  expect(appended).toHaveLength(2);
});

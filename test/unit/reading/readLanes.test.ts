/** The read models of several lanes answer as one. */
import type { Position } from '#app/ports/eventStore.js';
import type { Parked } from '#app/ports/projectionProgress.js';
import { READ_METHODS, type ReadModels } from '#app/ports/readSide.js';
import { laneIndex } from '#app/projector/lanes.js';
import { projections } from '#app/projector/projections.js';
import { ReadBarrier } from '#app/reading/readBarrier.js';
import { ReadGate } from '#app/reading/readGate.js';
import { type ReadSide, readLanes } from '#app/reading/readLanes.js';

const [FIRST, SECOND] = ['tenant-0', 'tenant-1'].sort((a, b) => laneIndex(a, 2) - laneIndex(b, 2)) as [string, string];
const at = { page: 1, perPage: 1 };

/** A lane whose projections are at the position; it answers each read with its own name. */
function lane(name: string, position: Position): ReadModels {
  const own = Object.fromEntries(Object.keys(READ_METHODS).map((method) => [method, async () => name]));
  return {
    ...own,
    tableFigures: async () => [{ tenant: name, table: 'dyn_item', records: 1, lastEventAt: '' }],
    deliveryBacklog: async () => [{ tenant: name, webhookId: 'w', open: 1, oldestRequestedAt: '' }],
    checkpoint: async () => position,
    checkpoints: async () => new Map(projections.map((projection) => [projection.name, position])),
    anchor: async () => ({ log: 'log', position, eventId: name }),
    parked: async () => [{ tenant: name } as Parked],
    outOfOrder: async () => [],
    waitFor: async (_projection: string, wanted: Position) => wanted <= position,
    waitForEvent: async (_projection: string, wanted: Position) => wanted <= position,
    close: async () => undefined,
  } as unknown as ReadModels;
}

const log = { identity: async () => 'log', holds: async () => true, head: async () => 9, subscribe };

/** The lane behind its barrier, or before it. */
function side(models: ReadModels, isGuarded = true): ReadSide {
  const barrier = new ReadBarrier(new ReadGate(log, models, 60));
  return { readModels: isGuarded ? barrier.guard(models) : models, barrier, lanes: async () => [models] };
}

const { readModels: models } = readLanes([side(lane('first', 5), false), side(lane('second', 9), false)]);

test('a read that names a tenant is answered by its lane', async () => {
  expect(await models.get({ tenant: FIRST, table: 'dyn_item' }, 'id')).toBe('first');
  expect(await models.get({ tenant: SECOND, table: 'dyn_item' }, 'id')).toBe('second');
  expect(await models.history(SECOND, 'order', at)).toBe('second');
  expect(await models.waitForEvent('records', 9, 0, FIRST)).toBe(false);
  expect(await models.waitForEvent('records', 9, 0, SECOND)).toBe(true);
});

test('any other read is answered by all lanes together', async () => {
  expect((await models.tableFigures([])).map(({ tenant }) => tenant)).toEqual(['first', 'second']);
  expect((await models.deliveryBacklog()).map(({ tenant }) => tenant)).toEqual(['first', 'second']);
  expect((await models.parked()).map(({ tenant }) => tenant)).toEqual(['first', 'second']);
  expect(await models.outOfOrder()).toEqual([]);
});

test('together they are where the last lane is, and have read the log as far as the first', async () => {
  expect(await models.checkpoint('records')).toBe(5);
  expect((await models.checkpoints()).get('records')).toBe(5);
  expect(await models.anchor()).toMatchObject({ position: 9 });
  expect(await models.waitFor('records', 5, 0)).toBe(true);
  expect(await models.waitFor('records', 9, 0)).toBe(false);
});

test('a lane that is being filled refuses the reads of its tenants, and those of all tenants', async () => {
  const { readModels: guarded, barrier } = readLanes([side(lane('first', 0)), side(lane('second', 9))]);
  await expect(guarded.get({ tenant: FIRST, table: 'dyn_item' }, 'id')).rejects.toThrow('being filled');
  expect(await guarded.get({ tenant: SECOND, table: 'dyn_item' }, 'id')).toBe('second');
  await expect(guarded.tableFigures([])).rejects.toThrow('being filled');
  expect(await guarded.waitFor('records', 9, 0, FIRST)).toBe(false);
  expect(await guarded.waitFor('records', 9, 0, SECOND)).toBe(true);
  expect(await guarded.waitFor('records', 9, 0)).toBe(false);
  expect(await barrier.withheld()).toBeUndefined();
});

async function* subscribe(): AsyncGenerator<never> {}

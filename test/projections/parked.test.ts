import { setTimeout as wait } from 'node:timers/promises';
import { newId } from '#app/commands/clock.js';
import { createRecord, updateRecord } from '#app/commands/records.js';
import { upsertBatch } from '#app/commands/referenceTables/synchronize.js';
import { tableStream } from '#app/domain/streams.js';
import type { Projection } from '#app/ports/projection.js';
import { ReadModelsWithheldError } from '#app/ports/readModels.js';
import { projections } from '#app/projector/projections.js';
import { ReadBarrier } from '#app/reading/readBarrier.js';
import { ReadGate } from '#app/reading/readGate.js';
import { rebuildProjection } from '#app/rebuild/rebuild.js';
import { logEvent } from '../acceptance/logEvent.js';
import { type FreshReadModels, onEachReadModels } from '../engines/onEachReadModels.js';
import { type Inside, openInside, openTenant } from './harness.js';

onEachReadModels(describeParking);

function describeParking(newEngine: FreshReadModels): void {
  let inside: Inside;
  let env: { readonly [name: string]: string };
  /** A release in which the history of orders with these notes cannot be made. */
  let isBroken: (notes: unknown) => boolean;

  const breakable = projections.map(
    (projection): Projection => ({
      ...projection,
      async apply(event, tenant, target) {
        const { fields } = event.data as { fields?: { notes?: unknown } };
        if (projection.name === 'order_history' && isBroken(fields?.notes)) throw new Error('It cannot be told.');
        await projection.apply(event, tenant, target);
      },
    }),
  );
  const open = () => openInside(undefined, { projections: breakable, env });

  beforeEach(async () => {
    env = newEngine();
    isBroken = () => false;
    inside = await open();
    await openTenant(inside, 'acme');
    await openTenant(inside, 'other');
  });
  afterEach(() => inside.close());

  const order = (tenant: string, notes: string) =>
    createRecord(inside.commands, inside.caller(tenant), inside.assetType(tenant, 'dyn_stock_order'), { notes });
  const party = (tenant: string, external_id: string) =>
    createRecord(inside.commands, inside.caller(tenant), inside.assetType(tenant, 'dyn_party'), {
      external_id,
      name: 'Party',
    });
  const batch = (tenant: string, count: number) => {
    const items = Array.from({ length: count }, (_, n) => ({ external_id: `b${n}`, name: 'Party', _batch_id: 'b' }));
    return upsertBatch(inside.commands, inside.caller(tenant), inside.assetType(tenant, 'dyn_party'), { items });
  };
  const historyOf = async (tenant: string, id: string) => {
    await inside.caughtUp();
    const { entries } = await inside.readModels.history(tenant, id, { page: 1, perPage: 100 });
    return entries.map(({ eventType, revision }) => `${revision} ${eventType}`);
  };
  const total = async (tenant: string, table: string) => {
    await inside.caughtUp();
    const query = { filters: [], sort: [], offset: 0, limit: 1 };
    return (await inside.readModels.list({ tenant, table }, query)).total;
  };
  const parked = async () => {
    await inside.caughtUp();
    return inside.readModels.parked();
  };
  /** As an operator does; resolves when something has come of it. */
  const retry = async (tenant: string, projection: string) => {
    expect(await inside.writer.askRetry({ tenant, projection })).toBe(true);
    while ((await inside.readModels.parked()).some(({ retryAsked }) => retryAsked)) await wait(20);
  };
  /** An event that does not fit what is stored, as no command would write it. */
  const poison = (tenant: string, table = 'dyn_party') => {
    const nobody = logEvent(tenant, 'RecordChanged', { id: newId(), set: { name: 'Nobody' } });
    return inside.eventStore.append(tableStream(tenant, table), [nobody], 'any');
  };

  test('an event that a projection cannot apply parks its tenant there, and all else goes on', async () => {
    const first = await order('acme', 'fine');
    isBroken = (notes) => notes === 'broken';
    const broken = await order('acme', 'broken');
    await updateRecord(inside.commands, inside.caller('acme'), inside.assetType('acme', 'dyn_stock_order'), first.id, {
      notes: 'later',
    });
    const others = await order('other', 'fine');
    expect(await parked()).toEqual([
      {
        tenant: 'acme',
        projection: 'order_history',
        checkpoint: expect.any(Number),
        position: broken.position,
        eventId: expect.any(String),
        eventType: 'OrderCreated',
        error: 'It cannot be told.',
        since: expect.any(String),
        retryAsked: false,
      },
    ]);
    expect(await historyOf('acme', first.id)).toEqual(['0 OrderCreated']);
    expect(await historyOf('acme', broken.id)).toEqual([]);
    expect(await historyOf('other', others.id)).toEqual(['0 OrderCreated']);
    // The other projections of the tenant are not affected.
    expect(await total('acme', 'dyn_stock_order')).toBe(2);
  });

  test('after a fix a retry goes on from the event, and then with the others: nothing is lost and nothing doubled', async () => {
    isBroken = (notes) => notes === 'broken';
    const broken = await order('acme', 'broken');
    const later = [];
    for (let n = 0; n < 30; n++) later.push(await order('acme', `later ${n}`), await order('other', 'beside'));
    expect(await parked()).toHaveLength(1);

    await retry('acme', 'order_history');
    expect(await parked()).toMatchObject([{ position: broken.position, retryAsked: false }]);

    isBroken = (notes) => notes === 'later 7';
    await retry('acme', 'order_history');
    expect(await parked()).toMatchObject([{ position: later[14]?.position, checkpoint: later[12]?.position }]);

    isBroken = () => false;
    const during = Array.from({ length: 20 }, (_, n) => order(n % 2 === 0 ? 'acme' : 'other', 'during'));
    await retry('acme', 'order_history');
    expect(await parked()).toEqual([]);
    const after = await order('acme', 'after');
    for (const { id } of [broken, ...later.filter((_, n) => n % 2 === 0), after]) {
      expect(await historyOf('acme', id)).toEqual(['0 OrderCreated']);
    }
    for (const [n, made] of (await Promise.all(during)).entries()) {
      expect(await historyOf(n % 2 === 0 ? 'acme' : 'other', made.id)).toEqual(['0 OrderCreated']);
    }
  });

  test('what is parked stays so over a restart, and a rebuild of that tenant alone takes it back', async () => {
    isBroken = (notes) => notes === 'broken';
    const broken = await order('acme', 'broken');
    await order('other', 'broken');
    expect(await parked()).toHaveLength(2);
    const next = await openInside(inside, { projections: breakable, env });
    await wait(700);
    expect(await next.readModels.parked()).toHaveLength(2);
    await next.close();

    isBroken = () => false;
    await rebuildProjection(inside, { projection: 'order_history', tenant: 'acme' });
    expect((await parked()).map(({ tenant }) => tenant)).toEqual(['other']);
    const after = await order('acme', 'after');
    expect(await historyOf('acme', broken.id)).toEqual(['0 OrderCreated']);
    expect(await historyOf('acme', after.id)).toEqual(['0 OrderCreated']);
  });

  test('a change that does not fit what is stored parks the records, those before it applied and those behind it not', async () => {
    await party('acme', 'before');
    await party('other', 'before');
    const { position } = await poison('acme');
    await order('acme', 'behind');
    await batch('other', 300);
    expect(await parked()).toMatchObject([{ tenant: 'acme', projection: 'records', position }]);
    expect(await total('acme', 'dyn_party')).toBe(1);
    // Without transactions, what a commit has written before it failed stays; it is withheld, and not written twice later.
    expect(await total('acme', 'dyn_stock_order')).toBeLessThanOrEqual(1);
    expect(await total('other', 'dyn_party')).toBe(301);
    await retry('acme', 'records');
    expect(await parked()).toMatchObject([{ tenant: 'acme', projection: 'records', position }]);
    expect(await total('acme', 'dyn_party')).toBe(1);
    await expect(rebuildProjection(inside, { projection: 'records', tenant: 'acme' })).rejects.toThrow(
      `The event at position ${position}`,
    );
    await expect(
      rebuildProjection(inside, { projection: 'records', tenant: 'acme', table: 'dyn_item' }),
    ).rejects.toThrow('are parked');
    expect(await parked()).toHaveLength(1);
  });

  test('a table that nobody has defined parks as well', async () => {
    const { position } = await poison('acme', 'dyn_unheard_of');
    await party('other', 'beside');
    expect(await parked()).toMatchObject([{ tenant: 'acme', projection: 'records', position }]);
    expect(await total('other', 'dyn_party')).toBe(1);
  });

  test('the barrier withholds what is parked from its tenant, and nobody waits for it', async () => {
    const made = await order('acme', 'fine');
    isBroken = (notes) => notes === 'broken';
    await order('acme', 'broken');
    expect(await parked()).toHaveLength(1);
    const guarded = new ReadBarrier(new ReadGate(inside.eventStore, inside.readModels, 60)).guard(inside.readModels);
    const page = { page: 1, perPage: 10 };
    await expect(guarded.history('acme', made.id, page)).rejects.toThrow(ReadModelsWithheldError);
    await expect(guarded.history('acme', made.id, page)).rejects.toThrow(/OrderCreated at position \d+/);
    expect(await guarded.waitFor('order_history', made.position, 20_000, 'acme')).toBe(false);
    expect(await guarded.get({ tenant: 'acme', table: 'dyn_stock_order' }, made.id)).toBeDefined();
    expect(await guarded.history('other', made.id, page)).toMatchObject({ entries: [], total: 0 });
  });
}

import type { Parked } from '#app/ports/projectionProgress.js';
import { MismatchError, type ReadModelWriter, type RebuildableReadModels } from '#app/ports/readModelWriter.js';
import type { ReadModels } from '#app/ports/readSide.js';
import {
  acmePlaces,
  at,
  fill,
  found,
  historyEntry,
  id,
  insert,
  type OpenReadModels,
  places,
  write,
} from './readModelsFixture.js';

const parkedAt = (position: number, more: Partial<Parked> = {}): Parked => ({
  tenant: 'acme',
  projection: 'records',
  checkpoint: position - 1,
  position,
  eventId: id(position),
  eventType: 'RecordUpdated',
  error: 'It does not fit.',
  since: '2026-11-22T10:00:00.000Z',
  retryAsked: false,
  ...more,
});

export function describeParked(name: string, open: OpenReadModels): void {
  describe(`read models, parked: ${name}`, () => {
    let readModels: ReadModels;
    let writer: ReadModelWriter & RebuildableReadModels;
    let anotherWriter: () => Promise<ReadModelWriter & RebuildableReadModels>;
    let refusedNotes: () => string;

    beforeEach(async () => {
      ({ readModels, writer, anotherWriter, refusedNotes } = await open());
      await fill(writer, [insert(1, {})]);
    });

    test('a part of a projection is parked, moved and unparked with the checkpoints, or not at all', async () => {
      expect(await readModels.parked()).toEqual([]);
      await write(writer, () => writer.park(parkedAt(7)), { records: 9 });
      await write(writer, () => writer.park(parkedAt(8, { projection: 'deliveries' })));
      expect([...(await readModels.parked())].sort(byName)).toEqual([
        parkedAt(8, { projection: 'deliveries' }),
        parkedAt(7),
      ]);
      expect(await writer.parked()).toHaveLength(2);
      expect((await readModels.checkpoints()).get('records')).toBe(9);

      await writer.begin();
      await writer.unpark(parkedAt(7));
      await writer.rollback();
      await write(writer, () => writer.park(parkedAt(8, { projection: 'deliveries', checkpoint: 8 })));
      expect([...(await readModels.parked())].sort(byName)).toEqual([
        parkedAt(8, { projection: 'deliveries', checkpoint: 8 }),
        parkedAt(7),
      ]);
      await write(writer, () => writer.unpark(parkedAt(7)));
      expect(await readModels.parked()).toHaveLength(1);
    });

    test('a wait for a write of a parked tenant ends at once; waits for other tenants go on', async () => {
      const waiting = readModels.waitFor('records', 9, 20_000, 'acme');
      await write(writer, () => writer.park(parkedAt(7)), { records: 9 });
      expect(await waiting).toBe(false);
      expect(await readModels.waitFor('records', 9, 20_000, 'acme')).toBe(false);
      expect(await readModels.waitFor('records', 1_000, 20_000, 'acme')).toBe(false);
      expect(await readModels.waitFor('records', 9, 20_000, 'other')).toBe(true);
      expect(await readModels.waitFor('records', 9, 20_000)).toBe(true);
      await write(writer, () => writer.unpark(parkedAt(7)));
      expect(await readModels.waitFor('records', 9, 20_000, 'acme')).toBe(true);
    });

    test('a retry is asked for by another process, beside the one that projects, and settled by it', async () => {
      const other = await anotherWriter();
      expect(await other.askRetry(parkedAt(7))).toBe(false);
      await write(writer, () => writer.park(parkedAt(7)));
      expect(await other.askRetry(parkedAt(7))).toBe(true);
      expect(await other.askRetry(parkedAt(7))).toBe(true);
      expect(await writer.parked()).toEqual([parkedAt(7, { retryAsked: true })]);
      await write(writer, () => writer.park(parkedAt(7, { checkpoint: 8, retryAsked: true })));
      expect(await writer.parked()).toEqual([parkedAt(7, { checkpoint: 8, retryAsked: true })]);
      await write(writer, () => writer.park(parkedAt(9)));
      expect(await writer.parked()).toEqual([parkedAt(9)]);
      await other.close();
    });

    test('a rebuild ends the parking of all of a projection, or of one tenant in it', async () => {
      const others = [parkedAt(5, { tenant: 'other' }), parkedAt(6, { projection: 'order_history' })];
      await write(writer, async () => {
        for (const each of [parkedAt(7), ...others]) await writer.park(each);
      });
      const rebuild = await writer.beginRebuild({ projection: 'records', tenant: 'acme' });
      await rebuild.holdLive();
      await rebuild.swap();
      expect([...(await readModels.parked())].sort(byName)).toEqual([...others].sort(byName));
      await writer.reset('records');
      expect(await readModels.parked()).toEqual([others[1]]);
    });

    test('what does not fit is told apart, and leaves nothing of its transaction behind', async () => {
      const patch = { kind: 'patch', id: id(99), at: at(9), set: { name: 'x' } } as const;
      const refused = write(writer, async () => {
        await writer.addHistory('acme', id(1), [historyEntry(0)]);
        await writer.applyToTable(acmePlaces, [patch], { revision: 5, at: at(9), position: 12 });
      });
      await expect(refused).rejects.toBeInstanceOf(MismatchError);
      await expect(refused).rejects.toMatchObject({
        mismatch: { tenant: 'acme', projection: 'records', position: 12 },
      });
      await writer.rollback();
      const nowhere = { tenant: 'acme', table: 'unheard_of' };
      const undefinedTable = write(writer, () => writer.applyToTable(nowhere, [patch], { revision: 0, at: at(9) }));
      await expect(undefinedTable).rejects.toBeInstanceOf(MismatchError);
      await writer.rollback();
      await write(writer, () =>
        writer.applyToTable(acmePlaces, [insert(2, {})], { revision: 5, at: at(9), position: 12 }),
      );
      expect(await found(readModels, {})).toEqual({ records: ['C1', 'C2'], total: 2 });
    });

    test.each([
      ['insert', () => insert(2, { notes: refusedNotes() })],
      ['patch', () => ({ kind: 'patch', id: id(1), at: at(9), set: { notes: refusedNotes() } }) as const],
    ])(
      'a record that the engine cannot store after an %s is named, with the event, and others are stored',
      async (_, change) => {
        const other = { ...acmePlaces, tenant: 'other' };
        const refused = change();
        const ofBoth = async () => {
          await writer.defineTable(other, places);
          await writer.applyToTable(other, [insert(1, {})], { revision: 0, at: at(4), position: 11 });
          await writer.applyToTable(acmePlaces, [insert(3, {}), refused], { revision: 5, at: at(9), position: 12 });
          await writer.applyToTable(acmePlaces, [insert(4, {})], { revision: 6, at: at(9), position: 13 });
        };
        const both = write(writer, ofBoth, { records: 13 });
        const record = `record ${refused.kind === 'insert' ? id(2) : id(1)}`;
        await expect(both).rejects.toBeInstanceOf(MismatchError);
        await expect(both).rejects.toMatchObject({ mismatch: { ...acmePlaces, position: 12, refused: record } });
        await writer.rollback();
        const ofOther = async () => {
          await writer.defineTable(other, places);
          await writer.applyToTable(other, [insert(1, {})], { revision: 0, at: at(4), position: 11 });
          await writer.park(parkedAt(12));
        };
        await write(writer, ofOther, { records: 13 });
        expect((await found(readModels, {}, other)).records).toEqual(['C1']);
      },
    );

    test('a change that did not fit does not fit when it is tried again after others of its commit were written', async () => {
      const patch = { kind: 'patch', id: id(99), at: at(9), set: { name: 'x' } } as const;
      const both = () =>
        write(
          writer,
          async () => {
            await writer.applyToTable(acmePlaces, [insert(2, {})], { revision: 5, at: at(5), position: 11 });
            await writer.applyToTable(acmePlaces, [patch], { revision: 6, at: at(9), position: 12 });
          },
          { records: 12 },
        );
      for (let attempt = 0; attempt < 3; attempt++) {
        await expect(both()).rejects.toMatchObject({ mismatch: { position: 12 } });
        await writer.rollback();
      }
      await write(
        writer,
        async () => {
          await writer.applyToTable(acmePlaces, [insert(2, {})], { revision: 5, at: at(5), position: 11 });
          await writer.park(parkedAt(12, { checkpoint: 11 }));
        },
        { records: 12 },
      );
      expect(await found(readModels, {})).toEqual({ records: ['C1', 'C2'], total: 2 });
      const again = write(writer, async () => {
        await writer.applyToTable(acmePlaces, [patch], { revision: 6, at: at(9), position: 12 });
        await writer.unpark(parkedAt(12));
      });
      await expect(again).rejects.toMatchObject({ mismatch: { position: 12 } });
      await writer.rollback();
      expect(await readModels.parked()).toEqual([parkedAt(12, { checkpoint: 11 })]);
    });
  });
}

const byName = (one: Parked, other: Parked): number =>
  `${one.tenant}.${one.projection}` < `${other.tenant}.${other.projection}` ? -1 : 1;

import type { DeliveryLogEntry } from '#app/ports/deliveryLog.js';
import type { ReadModelWriter, RebuildableReadModels } from '#app/ports/readModelWriter.js';
import type { ReadModels } from '#app/ports/readSide.js';
import {
  at,
  delivery,
  failed,
  fill,
  found,
  historyEntry,
  id,
  insert,
  type OpenReadModels,
  succeeded,
  write,
} from './readModelsFixture.js';

export function describeDeliveryRebuilds(name: string, open: OpenReadModels): void {
  describe(`read models, rebuilt delivery log: ${name}`, () => {
    let readModels: ReadModels;
    let writer: ReadModelWriter & RebuildableReadModels;

    beforeEach(async () => {
      ({ readModels, writer } = await open());
    });

    const put = (entries: readonly DeliveryLogEntry[], tenant = 'acme') =>
      write(writer, async () => {
        for (const entry of entries) await writer.putDelivery(tenant, entry);
      });
    const page = async (tenant = 'acme') =>
      (await readModels.deliveries(tenant, { webhookId: 'hook', limit: 100 })).map(({ position }) => position);
    const states = () =>
      Promise.all(['acme', 'other'].map(async (tenant) => (await readModels.delivery(tenant, id(1)))?.state));

    test('a reset drops the log and its checkpoint, and nothing else', async () => {
      await fill(writer, [insert(1, {})]);
      await write(writer, () => writer.addHistory('acme', id(1), [historyEntry(0)]));
      await put([succeeded(1, 10), delivery(2)]);
      await write(writer, async () => {}, { deliveries: 5, records: 6 });
      await writer.reset('deliveries');
      expect(await page()).toEqual([]);
      expect(await readModels.delivery('acme', id(1))).toBeUndefined();
      expect(await readModels.deliveryBacklog()).toEqual([]);
      expect(await readModels.webhookHealth('acme', 'hook')).toEqual({ lastSuccessAt: null, failingSince: null });
      expect(await readModels.checkpoint('deliveries')).toBe(0);
      expect(await readModels.checkpoint('records')).toBe(6);
      expect(await found(readModels, {})).toMatchObject({ total: 1 });
      expect(await readModels.history('acme', id(1), { page: 1, perPage: 10 })).toMatchObject({ total: 1 });
      await put([delivery(1)]);
      expect(await page()).toEqual([1]);
    });

    describe('rebuilt', () => {
      beforeEach(async () => {
        await put([delivery(1), delivery(2)]);
        await put([delivery(1)], 'other');
        await put([delivery(1)], 'third');
        await write(writer, async () => {}, { deliveries: 7 });
      });

      test.each([
        ['everything', {}, ['acme', 'other'], 'succeeded', [[2, 1], [1], []]],
        ['one tenant', { tenant: 'acme' }, ['acme'], 'open', [[2, 1], [1], [1]]],
      ])('%s takes the place of what was served, in one step', async (_, scope, tenants, stateOfOther, after) => {
        const rebuild = await writer.beginRebuild({ projection: 'deliveries', ...scope });
        await write(
          rebuild.writer,
          async () => {
            expect(await rebuild.writer.delivery('acme', id(1))).toBeUndefined();
            for (const tenant of tenants) await rebuild.writer.putDelivery(tenant, succeeded(1, 10));
            await rebuild.writer.putDelivery('acme', delivery(2));
          },
          { deliveries: 7 },
        );
        await write(
          rebuild.writer,
          async () => expect(await rebuild.writer.delivery('acme', id(1))).toEqual(succeeded(1, 10)),
          { deliveries: 7 },
        );
        expect(await states()).toEqual(['open', 'open']);
        expect(await rebuild.holdLive()).toBe(7);
        await rebuild.swap();
        expect(await states()).toEqual(['succeeded', stateOfOther]);
        expect(await Promise.all(['acme', 'other', 'third'].map((tenant) => page(tenant)))).toEqual(after);
        expect(await readModels.webhookHealth('acme', 'hook')).toEqual({ lastSuccessAt: at(10), failingSince: null });
        expect((await readModels.deliveryBacklog()).find(({ tenant }) => tenant === 'acme')?.open).toBe(1);

        // The live projection goes on, on the copy.
        await put([failed(2, 20)]);
        expect(await readModels.delivery('acme', id(2))).toEqual(failed(2, 20));
        await write(writer, async () => expect(await writer.delivery('acme', id(1))).toEqual(succeeded(1, 10)));
      });

      test('an abandoned one leaves the log as it was', async () => {
        const rebuild = await writer.beginRebuild({ projection: 'deliveries' });
        await write(rebuild.writer, () => rebuild.writer.putDelivery('acme', succeeded(1, 10)), { deliveries: 7 });
        await rebuild.abandon();
        expect(await readModels.delivery('acme', id(1))).toEqual(delivery(1));
        expect(await page()).toEqual([2, 1]);
      });
    });
  });
}

import type { DeliveryLogEntry, DeliveryQuery, OrderDeliveryQuery } from '#app/ports/deliveryLog.js';
import type { ReadModelWriter, RebuildableReadModels } from '#app/ports/readModelWriter.js';
import type { ReadModels } from '#app/ports/readSide.js';
import { at, attempt, delivery, failed, id, type OpenReadModels, succeeded, write } from './readModelsFixture.js';

export function describeDeliveries(name: string, open: OpenReadModels): void {
  describe(`read models, delivery log: ${name}`, () => {
    let readModels: ReadModels;
    let writer: ReadModelWriter & RebuildableReadModels;

    beforeEach(async () => {
      ({ readModels, writer } = await open());
    });

    const put = (entries: readonly DeliveryLogEntry[], tenant = 'acme') =>
      write(writer, async () => {
        for (const entry of entries) await writer.putDelivery(tenant, entry);
      });
    const page = async (query: Partial<DeliveryQuery> = {}, tenant = 'acme') =>
      (await readModels.deliveries(tenant, { webhookId: 'hook', limit: 100, ...query })).map(
        ({ position }) => position,
      );
    const drop = async (endedBefore: string, limit: number) => {
      let dropped = -1;
      await write(writer, async () => {
        dropped = await writer.dropDeliveries(endedBefore, limit);
      });
      return dropped;
    };
    const inTransaction = async (work: () => Promise<unknown>) => {
      await writer.begin();
      const result = await work();
      await writer.rollback();
      return result;
    };

    test('entries come back as they were put, to readers and to the writer', async () => {
      const entry = failed(7, 9, {
        purpose: 'resend',
        messageId: id(3),
        orderId: null,
        table: 'places',
        attempts: [
          attempt(1, 8, 'HTTP 500'),
          { ...attempt(2, 9, null), endedAt: null, durationMs: null, status: null },
        ],
        retryAt: at(20),
      });
      await put([entry]);
      expect(await readModels.delivery('acme', id(7))).toEqual(entry);
      expect(await readModels.deliveries('acme', { webhookId: 'hook', limit: 1 })).toEqual([entry]);
      expect(await inTransaction(() => writer.delivery('acme', id(7)))).toEqual(entry);
    });

    test('what is not there is not found', async () => {
      const nothing = async () => {
        for (const wrong of [id(1), '', 'x', 'w.hook', "' OR 1"]) {
          expect(await readModels.delivery('acme', wrong)).toBeUndefined();
          expect(await page({ webhookId: wrong })).toEqual([]);
        }
        expect(await inTransaction(() => writer.delivery('acme', id(1)))).toBeUndefined();
        expect(await readModels.webhookHealth('acme', 'other')).toEqual({ lastSuccessAt: null, failingSince: null });
      };
      await nothing();
      expect(await readModels.deliveryBacklog()).toEqual([]);
      await put([delivery(2)]);
      await nothing();
    });

    test('a later revision takes the place of an earlier one, never the other way round', async () => {
      await put([delivery(1), delivery(1, { revision: 1, attempts: [attempt(1, 2, 'HTTP 500')] })]);
      expect(await readModels.delivery('acme', id(1))).toMatchObject({ revision: 1 });
      await put([delivery(1)]);
      await put([delivery(1, { revision: 1, retryAt: at(5) })]);
      expect(await readModels.delivery('acme', id(1))).toMatchObject({ revision: 1, retryAt: null });
      await put([succeeded(1, 3, { revision: 2 })]);
      expect(await readModels.delivery('acme', id(1))).toMatchObject({ revision: 2, state: 'succeeded' });
      expect(await page()).toEqual([1]);
      expect(await page({ state: 'open' })).toEqual([]);
    });

    test('the writer sees what its transaction has put', async () => {
      await writer.begin();
      await writer.putDelivery('acme', delivery(1));
      expect(await writer.delivery('acme', id(1))).toEqual(delivery(1));
      await writer.commit(new Map());
      await writer.begin();
      await writer.putDelivery('acme', succeeded(1, 2));
      expect(await writer.delivery('acme', id(1))).toEqual(succeeded(1, 2));
      await writer.commit(new Map());
      expect(await readModels.delivery('acme', id(1))).toEqual(succeeded(1, 2));
    });

    test('of one tenant are never seen by another', async () => {
      await put([delivery(1)]);
      await put([delivery(1, { kind: 'order.created' }), delivery(2)], 'other');
      expect(await page()).toEqual([1]);
      expect(await page({}, 'other')).toEqual([2, 1]);
      expect(await readModels.delivery('acme', id(2))).toBeUndefined();
      expect(await readModels.delivery('acme', id(1))).toEqual(delivery(1));
      expect(await page({}, 'nobody')).toEqual([]);
    });

    describe('pages', () => {
      beforeEach(() =>
        put([
          delivery(30, { orderId: id(2) }),
          succeeded(10, 11),
          failed(20, 25, { kind: 'order.created' }),
          succeeded(50, 51, { kind: 'reference.cleaned_up', orderId: null }),
          delivery(40),
          delivery(45, { webhookId: 'other' }),
        ]),
      );

      test('are newest first, or oldest first, by position', async () => {
        expect(await page()).toEqual([50, 40, 30, 20, 10]);
        expect(await page({ order: 'oldest' })).toEqual([10, 20, 30, 40, 50]);
        expect(await page({ webhookId: 'other' })).toEqual([45]);
      });

      test('go on behind a position, in their direction, also behind one that is gone', async () => {
        expect(await page({ limit: 2 })).toEqual([50, 40]);
        expect(await page({ limit: 2, after: 40 })).toEqual([30, 20]);
        expect(await page({ limit: 2, after: 35 })).toEqual([30, 20]);
        expect(await page({ limit: 2, after: 20, order: 'oldest' })).toEqual([30, 40]);
        expect(await page({ after: 10 })).toEqual([]);
      });

      test.each<[Partial<DeliveryQuery>, number[]]>([
        [{ state: 'open' }, [40, 30]],
        [{ state: 'succeeded' }, [50, 10]],
        [{ state: 'failed' }, [20]],
        [{ kind: 'order.approved' }, [40, 30, 10]],
        [{ kind: 'no such kind' }, []],
        [{ orderId: id(1) }, [40, 20, 10]],
        [{ orderId: id(2) }, [30]],
        [{ since: at(20) }, [50, 40, 30, 20]],
        [{ until: at(20) }, [10]],
        [{ since: at(20), until: at(40) }, [30, 20]],
        [{ state: 'open', orderId: id(1) }, [40]],
        [{ state: 'succeeded', kind: 'order.approved', orderId: id(1), since: at(1), until: at(30) }, [10]],
        [{ state: 'succeeded', kind: 'order.created' }, []],
        [{ state: 'succeeded', order: 'oldest', after: 10 }, [50]],
        [{ orderId: id(1), after: 40, limit: 1 }, [20]],
      ])('%j finds %j', async (query, expected) => {
        expect(await page(query)).toEqual(expected);
      });

      test('times may be written in another way than the log does', async () => {
        const second = at(0).slice(0, 19);
        expect(await page({ since: `${second}Z` })).toHaveLength(5);
        expect(await page({ until: `${second}Z` })).toEqual([]);
        expect(await page({ until: `${second}.001+00:00` })).toHaveLength(5);
      });
    });

    describe('pages about an order', () => {
      const orderPage = async (more: Partial<OrderDeliveryQuery> = {}, tenant = 'acme') =>
        (
          await readModels.deliveriesOfOrder(tenant, {
            orderId: id(1),
            behind: { sequence: 0, position: -1 },
            to: 100,
            limit: 100,
            ...more,
          })
        ).map(({ position }) => position);

      beforeEach(async () => {
        await put([
          delivery(30, { sequence: 2 }),
          succeeded(10, 11, { sequence: 5 }),
          delivery(20, { sequence: 2, webhookId: 'other' }),
          failed(40, 45, { sequence: 0, webhookId: 'other' }),
          delivery(50, { sequence: 2, orderId: id(2) }),
          delivery(60, { sequence: 2, orderId: null, table: 'places' }),
        ]);
        await put([delivery(70, { sequence: 2 })], 'other');
      });

      test('are those to all webhooks, by the event that they tell of, then by their request', async () => {
        expect(await orderPage()).toEqual([40, 20, 30, 10]);
        expect(await orderPage({ orderId: id(2) })).toEqual([50]);
        expect(await orderPage({ orderId: id(3) })).toEqual([]);
        expect(await orderPage({}, 'other')).toEqual([70]);
        expect(await orderPage({}, 'nobody')).toEqual([]);
      });

      test('go on behind a place, and end with an event', async () => {
        expect(await orderPage({ limit: 2 })).toEqual([40, 20]);
        expect(await orderPage({ behind: { sequence: 2, position: 20 } })).toEqual([30, 10]);
        expect(await orderPage({ behind: { sequence: 1, position: -1 }, to: 2 })).toEqual([20, 30]);
        expect(await orderPage({ behind: { sequence: 2, position: 30 }, to: 4 })).toEqual([]);
      });

      test('have whole entries', async () => {
        const entry = succeeded(10, 11, { sequence: 5 });
        const query = { orderId: id(1), behind: { sequence: 5, position: -1 }, to: 5, limit: 10 };
        expect(await readModels.deliveriesOfOrder('acme', query)).toEqual([entry]);
      });
    });

    describe('backlog and health', () => {
      test('the backlog counts what is open, by tenant and webhook, with the time of the oldest', async () => {
        await put([delivery(3), delivery(2), succeeded(1, 5), delivery(4, { webhookId: 'other' })]);
        await put([failed(1, 2, { webhookId: 'done' }), delivery(9)], 'zulu');
        const byWebhook = async () =>
          [...(await readModels.deliveryBacklog())].sort((a, b) =>
            `${a.tenant}.${a.webhookId}` < `${b.tenant}.${b.webhookId}` ? -1 : 1,
          );
        expect(await byWebhook()).toEqual([
          { tenant: 'acme', webhookId: 'hook', open: 2, oldestRequestedAt: at(2) },
          { tenant: 'acme', webhookId: 'other', open: 1, oldestRequestedAt: at(4) },
          { tenant: 'zulu', webhookId: 'hook', open: 1, oldestRequestedAt: at(9) },
        ]);
        await put([succeeded(2, 6), failed(4, 7, { webhookId: 'other' })]);
        expect(await byWebhook()).toEqual([
          { tenant: 'acme', webhookId: 'hook', open: 1, oldestRequestedAt: at(3) },
          { tenant: 'zulu', webhookId: 'hook', open: 1, oldestRequestedAt: at(9) },
        ]);
      });

      const health = () => readModels.webhookHealth('acme', 'hook');

      test('failing counts from the first failed attempt since the last success, over all deliveries', async () => {
        await put([delivery(1, { revision: 1, attempts: [attempt(1, 10, 'HTTP 500')] })]);
        expect(await health()).toEqual({ lastSuccessAt: null, failingSince: at(10) });
        await put([delivery(2, { revision: 2, attempts: [attempt(1, 20, 'HTTP 500')] })]);
        expect(await health()).toEqual({ lastSuccessAt: null, failingSince: at(10) });
        await put([succeeded(3, 30)]);
        expect(await health()).toEqual({ lastSuccessAt: at(30), failingSince: null });
        await put([failed(2, 50, { attempts: [attempt(1, 20, 'HTTP 500'), attempt(2, 40, 'reset')] })]);
        await put([delivery(1, { revision: 4, attempts: [attempt(1, 10, 'HTTP 500'), attempt(2, 60, 'HTTP 500')] })]);
        expect(await health()).toEqual({ lastSuccessAt: at(30), failingSince: at(40) });
        expect(await readModels.webhookHealth('other', 'hook')).toEqual({ lastSuccessAt: null, failingSince: null });
        expect(await readModels.webhookHealth('acme', 'other')).toEqual({ lastSuccessAt: null, failingSince: null });
      });

      test('what is put once more changes nothing', async () => {
        const entries = [
          delivery(1, { revision: 1, attempts: [attempt(1, 10, 'HTTP 500')] }),
          succeeded(2, 30),
          delivery(3, { revision: 1, attempts: [attempt(1, 40, 'HTTP 500')] }),
        ];
        await put(entries);
        await put(entries);
        expect(await health()).toEqual({ lastSuccessAt: at(30), failingSince: at(40) });
      });

      test('an attempt that is being made, or that a success has followed in the same delivery, is no failure', async () => {
        await put([delivery(1, { attempts: [{ ...attempt(1, 5, null), endedAt: null, status: null }] })]);
        expect(await health()).toEqual({ lastSuccessAt: null, failingSince: null });
        await put([succeeded(1, 30, { attempts: [attempt(1, 20, 'HTTP 500'), attempt(2, 30, null)] })]);
        expect(await health()).toEqual({ lastSuccessAt: at(30), failingSince: null });
      });
    });

    describe('dropping', () => {
      test('takes what ended before a time, some at a time, of all tenants; never what is open', async () => {
        await put([succeeded(1, 10), failed(2, 20), delivery(3), succeeded(4, 30)]);
        await put([succeeded(1, 10), succeeded(2, 40)], 'other');
        expect(await drop(at(30), 2)).toBe(2);
        expect(await drop(at(30), 2)).toBe(1);
        expect(await drop(at(30), 2)).toBe(0);
        expect(await page()).toEqual([4, 3]);
        expect(await page({}, 'other')).toEqual([2]);
        expect(await readModels.delivery('acme', id(1))).toBeUndefined();
        expect(await inTransaction(() => writer.delivery('acme', id(1)))).toBeUndefined();
        expect(await drop(at(1_000), 100)).toBe(2);
        expect(await page()).toEqual([3]);
      });

      test('leaves the health of the webhook as it was', async () => {
        await put([succeeded(1, 10), failed(2, 20)]);
        expect(await drop(at(30), 10)).toBe(2);
        expect(await readModels.webhookHealth('acme', 'hook')).toEqual({ lastSuccessAt: at(10), failingSince: at(20) });
      });

      test('of many tenants all have their turn, also those whose entries are more than one call drops', async () => {
        const tenants = Array.from({ length: 55 }, (_, n) => `tenant-${n}`);
        await write(writer, async () => {
          for (const tenant of tenants) {
            for (const n of [1, 2]) await writer.putDelivery(tenant, succeeded(n, 10));
          }
        });
        const dropped: number[] = [];
        while (
          dropped.length < tenants.length + 4 &&
          dropped.reduce((sum, each) => sum + each, 0) < 2 * tenants.length
        ) {
          dropped.push(await drop(at(30), dropped.length < 3 ? 3 : 100));
        }
        expect(dropped.slice(0, 3)).toEqual([3, 3, 3]);
        expect(dropped.reduce((sum, each) => sum + each, 0)).toBe(2 * tenants.length);
        expect(await page({}, 'tenant-54')).toEqual([]);
      });

      test('an unheard-of log has nothing to drop', async () => {
        expect(await drop(at(30), 10)).toBe(0);
      });
    });

    test('a rollback leaves nothing behind', async () => {
      await put([succeeded(1, 10)]);
      await writer.begin();
      await writer.putDelivery('acme', failed(2, 20));
      await writer.dropDeliveries(at(1_000), 10);
      await writer.rollback();
      expect(await page()).toEqual([1]);
      expect(await readModels.webhookHealth('acme', 'hook')).toEqual({ lastSuccessAt: at(10), failingSince: null });
      expect(await inTransaction(() => writer.delivery('acme', id(2)))).toBeUndefined();
    });
  });
}

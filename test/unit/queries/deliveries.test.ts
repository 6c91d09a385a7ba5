import { deliveryStream, webhooksStream } from '#app/domain/streams.js';
import type { DeliveryQuery } from '#app/queries/deliveries.js';
import { LoggedTenant, minute } from '../../support/tenantRows.js';

const id = (n: number): string => `0198c1f2-0000-7000-8000-${String(n).padStart(12, '0')}`;
const URL = 'https://erp.example/orders';

describe('the delivery log of a tenant', () => {
  let acme: LoggedTenant;
  /** Its position is the number of the delivery. */
  beforeEach(async () => {
    acme = new LoggedTenant();
    await acme.create();
    for (const name of ['hook', 'other', 'idle']) {
      const data = { id: name, name, url: URL, events: [], sealedSecret: '' };
      await acme.append(webhooksStream('acme'), { events: [{ type: 'WebhookCreated', data }] });
    }
  });

  const happen = (n: number, type: string, data: object, at?: string) =>
    acme.append(deliveryStream('acme', id(n)), { events: [{ type, data }], ...(at !== undefined && { at }) });
  /** @returns position of the request */
  const request = (n: number, more: object = {}) =>
    happen(n, 'DeliveryRequested', {
      webhookId: 'hook',
      kind: 'order.approved',
      orderId: id(99),
      sourceEventId: id(98),
      sourceRevision: 4,
      ...more,
    });
  const begin = (n: number, attempt = 1) => happen(n, 'DeliveryAttemptStarted', { attempt, url: URL });
  const succeed = (n: number, attempt = 1) =>
    happen(n, 'DeliverySucceeded', { attempt, status: 200, durationMs: 12, responseBody: 'ok' });
  const miss = (n: number, attempt = 1, more: object = {}) =>
    happen(n, 'DeliveryAttemptFailed', {
      attempt,
      status: 500,
      durationMs: 9,
      reason: 'HTTP 500',
      responseBody: '',
      ...more,
    });
  const fail = (n: number) => happen(n, 'DeliveryFailed', { attempts: 1, reason: 'No attempt is left.' });

  const page = async (query: Partial<DeliveryQuery> = {}) =>
    (await acme.queries.deliveries.page('acme', { webhookId: 'hook', limit: 100, ...query })).map((entry) =>
      Number(entry.id.slice(-3)),
    );

  test('an entry has all attempts, with what is known of them', async () => {
    const position = await request(1, { purpose: 'resend', messageId: id(3), orderId: '', table: 'dyn_item' });
    await begin(1);
    await miss(1, 1, { retryAt: minute(20) });
    const begun = await begin(1, 2);
    const ended = {
      url: URL,
      endedAt: minute(begun - 1),
      durationMs: 9,
      status: 500,
      reason: 'HTTP 500',
      responseBody: '',
      position: begun - 1,
    };
    expect(await acme.queries.deliveries.delivery('acme', id(1))).toEqual({
      id: id(1),
      revision: 3,
      position,
      webhookId: 'hook',
      messageId: id(3),
      kind: 'order.approved',
      purpose: 'resend',
      table: 'dyn_item',
      sequence: 4,
      requestedAt: minute(position),
      state: 'open',
      attempts: [
        { attempt: 1, startedAt: minute(begun - 2), ...ended },
        { attempt: 2, url: URL, startedAt: minute(begun) },
      ],
    });
    for (const wrong of [id(2), '', "' OR 1"])
      expect(await acme.queries.deliveries.delivery('acme', wrong)).toBeUndefined();
    expect(await acme.queries.deliveries.delivery('other', id(1))).toBeUndefined();
  });

  test('pages have what is asked for, newest or oldest first, and go on behind a position', async () => {
    const positions = [
      await request(1),
      await request(2, { orderId: id(97) }),
      await request(3, { kind: 'order.created' }),
    ];
    await request(4, { webhookId: 'other' });
    await begin(1);
    await succeed(1);
    await fail(3);
    expect(await page()).toEqual([3, 2, 1]);
    expect(await page({ order: 'oldest', limit: 2 })).toEqual([1, 2]);
    expect(await page({ order: 'oldest', after: positions[0] })).toEqual([2, 3]);
    expect(await page({ after: positions[2], limit: 1 })).toEqual([2]);
    expect(await page({ state: 'open' })).toEqual([2]);
    expect(await page({ state: 'succeeded', kind: 'order.approved', orderId: id(99) })).toEqual([1]);
    expect(await page({ state: 'failed', kind: 'order.approved' })).toEqual([]);
    const [first = 0, second = 0] = positions;
    expect(await page({ since: minute(second) })).toEqual([3, 2]);
    expect(await page({ until: minute(second) })).toEqual([1]);
    expect(await page({ since: minute(first), until: minute(second) })).toEqual([1]);
    expect(await page({ webhookId: 'nobody' })).toEqual([]);
  });

  test('those about one event of an order are to any webhook, oldest first', async () => {
    const first = await request(1, { sourceRevision: 2 });
    await request(2, { sourceRevision: 5 });
    await request(3, { sourceRevision: 2, webhookId: 'other' });
    await request(4, { orderId: id(97), sourceRevision: 2 });
    const ofEvent = { webhookId: undefined, orderId: id(99), sequence: { gte: 2, lte: 4 }, order: 'oldest' } as const;
    expect(await page(ofEvent)).toEqual([1, 3]);
    expect(await page({ ...ofEvent, after: first })).toEqual([3]);
  });

  test('the backlog counts what is open by webhook, with the time of the oldest', async () => {
    expect(await acme.queries.deliveries.backlog()).toEqual([]);
    const first = await request(1);
    await request(2);
    await request(3, { webhookId: 'other' });
    await fail(3);
    const backlog = { tenant: 'acme', webhookId: 'hook', open: 2, oldestRequestedAt: minute(first) };
    expect(await acme.queries.deliveries.backlog()).toEqual([backlog]);
    await begin(1);
    await succeed(1);
    expect(await acme.queries.deliveries.backlog()).toMatchObject([{ open: 1 }]);
  });

  test('a webhook fails since its first failed attempt after its last success', async () => {
    const health = () => acme.queries.deliveries.healthOf('acme', 'hook');
    for (const n of [1, 2, 3, 4]) await request(n);
    await begin(1);
    expect(await health()).toEqual({ lastSuccessAt: null, failingSince: null });
    const missed = await miss(1);
    await begin(2);
    await miss(2);
    expect(await health()).toEqual({ lastSuccessAt: null, failingSince: minute(missed) });
    await begin(3);
    await miss(3);
    await begin(3, 2);
    const succeeded = await succeed(3, 2);
    expect(await health()).toEqual({ lastSuccessAt: minute(succeeded), failingSince: null });
    await begin(2, 2);
    const again = await miss(2, 2);
    await fail(2);
    await begin(1, 2);
    await miss(1, 2);
    expect(await health()).toEqual({ lastSuccessAt: minute(succeeded), failingSince: minute(again) });
    expect(await acme.queries.deliveries.healthOf('acme', 'idle')).toEqual({ lastSuccessAt: null, failingSince: null });
  });

  test('what came before the last success is told by the log, also where the clock was put back', async () => {
    const health = () => acme.queries.deliveries.healthOf('acme', 'hook');
    for (const n of [1, 2]) await request(n);
    const [ahead, later] = [minute(600), minute(5)];
    const missed = { attempt: 1, status: 500, durationMs: 9, reason: 'HTTP 500', responseBody: '' };
    await begin(1);
    await happen(1, 'DeliveryAttemptFailed', missed, ahead);
    await begin(2);
    await happen(2, 'DeliverySucceeded', { attempt: 1, status: 200, durationMs: 12 }, minute(4));
    expect(await health()).toEqual({ lastSuccessAt: minute(4), failingSince: null });
    await begin(1, 2);
    await happen(1, 'DeliveryAttemptFailed', { ...missed, attempt: 2 }, later);
    expect(await health()).toEqual({ lastSuccessAt: minute(4), failingSince: later });
  });
});

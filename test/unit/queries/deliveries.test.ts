import { deliveryStream } from '#app/domain/streams.js';
import { DeliveryQueries } from '#app/queries/deliveries.js';
import { TenantRows } from '../../support/tenantRows.js';

const id = (n: number): string => `0198c1f2-0000-7000-8000-${String(n).padStart(12, '0')}`;
const URL = 'https://erp.example/orders';
/** The n-th minute of a day. */
const time = (n: number): string => new Date(Date.UTC(2026, 10, 21, 0, n)).toISOString();
const minute = (n: number): string => time(n).replace('Z', '000Z');

describe('the delivery log of a tenant', () => {
  let acme: TenantRows;
  beforeEach(() => {
    acme = new TenantRows();
  });
  const failingSince = (webhook = 'hook') => new DeliveryQueries(acme.rows.reads).failingSince('acme', webhook);

  /** @returns its position, which is also its minute where no other is given */
  const happen = async (n: number, type: string, data: object, at = time(acme.position + 1)) => {
    const position = acme.appendAt(at, deliveryStream('acme', id(n)), { type, data });
    await acme.apply();
    return position;
  };
  const request = (n: number) =>
    happen(n, 'DeliveryRequested', {
      webhookId: 'hook',
      kind: 'order.approved',
      orderId: id(99),
      sourceEventId: id(98),
      sourceRevision: 4,
    });
  const begin = (n: number, attempt = 1) => happen(n, 'DeliveryAttemptStarted', { attempt, url: URL });
  const succeed = (n: number, attempt = 1) =>
    happen(n, 'DeliverySucceeded', { attempt, status: 200, durationMs: 12, responseBody: 'ok' });
  const miss = (n: number, attempt = 1, at?: string) =>
    happen(
      n,
      'DeliveryAttemptFailed',
      { attempt, status: 500, durationMs: 9, reason: 'HTTP 500', responseBody: '' },
      at,
    );
  const fail = (n: number) => happen(n, 'DeliveryFailed', { attempts: 1, reason: 'No attempt is left.' });

  test('a webhook fails since its first failed attempt after its last success', async () => {
    for (const n of [1, 2, 3, 4]) await request(n);
    await begin(1);
    expect(await failingSince()).toBe(undefined);
    const missed = await miss(1);
    await begin(2);
    await miss(2);
    expect(await failingSince()).toBe(minute(missed));
    await begin(3);
    await miss(3);
    await begin(3, 2);
    await succeed(3, 2);
    expect(await failingSince()).toBe(undefined);
    await begin(2, 2);
    const again = await miss(2, 2);
    await fail(2);
    await begin(1, 2);
    await miss(1, 2);
    expect(await failingSince()).toBe(minute(again));
    expect(await failingSince('idle')).toBe(undefined);
  });

  test('what came before the last success is told by the log, also where the clock was put back', async () => {
    for (const n of [1, 2]) await request(n);
    const [ahead, later] = [time(600), time(5)];
    await begin(1);
    await miss(1, 1, ahead);
    await begin(2);
    await happen(2, 'DeliverySucceeded', { attempt: 1, status: 200, durationMs: 12 }, time(4));
    expect(await failingSince()).toBe(undefined);
    await begin(1, 2);
    await miss(1, 2, later);
    expect(await failingSince()).toBe(minute(5));
  });
});

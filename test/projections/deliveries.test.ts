import { deliveryStream } from '#app/domain/streams.js';
import type { DeliveryEvent, DeliverySubject } from '#app/domain/webhook/events.js';
import type { DeliveryLogEntry } from '#app/ports/deliveryLog.js';
import { deliveriesProjection } from '#app/projections/deliveries.js';
import { projections } from '#app/projector/projections.js';
import { runProjections } from '#app/projector/runner.js';
import { type Inside, openInside, openTenant } from './harness.js';

let inside: Inside;

beforeEach(async () => {
  inside = await openInside();
  await openTenant(inside, 'acme');
});
afterEach(() => inside.close());

/** As deliveries of earlier releases are in the log. */
const SUBJECT: DeliverySubject = {
  webhookId: 'hook',
  kind: 'order.approved',
  orderId: 'order',
  sourceEventId: 'event',
  sourceRevision: 7,
};
const requested = (more: Partial<DeliverySubject> = {}): DeliveryEvent => ({
  type: 'DeliveryRequested',
  data: { ...SUBJECT, ...more },
});
const started = (attempt: number): DeliveryEvent => ({
  type: 'DeliveryAttemptStarted',
  data: { attempt, url: `https://erp.example/${attempt}` },
});
const failed = (attempt: number, retryAt?: string): DeliveryEvent => ({
  type: 'DeliveryAttemptFailed',
  data: {
    attempt,
    reason: 'HTTP 500',
    status: 500,
    durationMs: 12,
    responseBody: 'Oops',
    ...(retryAt === undefined ? {} : { retryAt }),
  },
});
const succeeded = (attempt: number, responseBody?: string): DeliveryEvent => ({
  type: 'DeliverySucceeded',
  data: { attempt, status: 202, durationMs: 34, ...(responseBody === undefined ? {} : { responseBody }) },
});
const second = (n: number): string => `2026-11-21T03:11:${String(n).padStart(2, '0')}.000000Z`;

/** Records these events, one a second, and returns the entry once it shows them. */
async function recorded(
  id: string,
  events: readonly DeliveryEvent[],
  { tenant = 'acme', from = 0 } = {},
): Promise<DeliveryLogEntry | undefined> {
  const { tenant: name, ...metadata } = inside.caller(tenant);
  for (const [index, { type, data }] of events.entries()) {
    const occurredAt = second(from + index);
    const event = {
      id: inside.commands.newId(),
      type,
      data,
      metadata: { tenant: name, ...metadata, occurredAt, schemaVersion: 1 },
    };
    await inside.eventStore.append(
      deliveryStream(tenant, id),
      [event],
      from + index === 0 ? 'no-stream' : from + index - 1,
    );
  }
  await inside.caughtUp();
  return inside.readModels.delivery(tenant, id);
}

describe('the delivery log', () => {
  const firstAttempt = { attempt: 1, url: 'https://erp.example/1', startedAt: second(1) };
  const oops = { endedAt: second(2), durationMs: 12, status: 500, reason: 'HTTP 500', responseBody: 'Oops' };

  test.each<[string, readonly DeliveryEvent[], Partial<DeliveryLogEntry>]>([
    [
      'a success without an answer kept, as earlier releases recorded it',
      [started(1), succeeded(1)],
      {
        state: 'succeeded',
        attempts: [{ ...firstAttempt, ...oops, durationMs: 34, status: 202, reason: null, responseBody: null }],
      },
    ],
    [
      'a success that came in after its attempt was taken for cut off',
      [started(1), failed(1), succeeded(1)],
      {
        state: 'succeeded',
        endedAt: second(3),
        attempts: [
          { ...firstAttempt, endedAt: second(3), durationMs: 34, status: 202, reason: null, responseBody: null },
        ],
      },
    ],
  ])('shows %s', async (_, events, expected) => {
    const entry = await recorded('d1', [requested(), ...events]);
    expect(entry).toMatchObject({ revision: events.length, ...expected });
    expect(await inside.readModels.deliveries('acme', { webhookId: 'hook', limit: 10 })).toEqual([entry]);
  });

  test('events that are read once more change nothing, and do not bring back what was dropped', async () => {
    const done = await recorded('d1', [requested(), started(1), succeeded(1)]);
    await recorded('d2', [requested(), started(1)]);
    const events = await inside.eventStore.readStream(deliveryStream('acme', 'd1'));
    const tenant = inside.commands.directory.tenant('acme');
    if (tenant === undefined) throw new Error('there is no tenant');
    const again = async (some: typeof events) => {
      await inside.writer.begin();
      for (const event of some) await deliveriesProjection.apply(event, tenant, inside.writer);
      await inside.writer.commit(new Map());
    };
    await again(events);
    expect(await inside.readModels.delivery('acme', 'd1')).toEqual(done);

    await inside.writer.begin();
    expect(await inside.writer.dropDeliveries(second(59), 10)).toBe(1);
    await inside.writer.commit(new Map());
    await again(events.slice(1));
    expect(await inside.readModels.delivery('acme', 'd1')).toBeUndefined();
    expect(await inside.readModels.delivery('acme', 'd2')).toMatchObject({ state: 'open' });
  });
});

test('a projection that is new catches up with the others, from the beginning of the log, and then goes on with them', async () => {
  const entry = await recorded('d1', [requested(), started(1), succeeded(1)]);
  await inside.writer.reset('deliveries');
  expect(await inside.readModels.delivery('acme', 'd1')).toBeUndefined();
  const stopping = new AbortController();
  const running = runProjections(
    { eventStore: inside.eventStore, writer: inside.writer, projections },
    stopping.signal,
  );
  await inside.caughtUp();
  expect(await inside.readModels.delivery('acme', 'd1')).toEqual(entry);
  expect(await recorded('d2', [requested()])).toMatchObject({ state: 'open' });
  stopping.abort();
  await running;
});

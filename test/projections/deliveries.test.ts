import { deliveryStream } from '#app/domain/streams.js';
import type { DeliveryEvent, DeliverySubject } from '#app/domain/webhook/events.js';
import type { DeliveryLogEntry } from '#app/ports/deliveryLog.js';
import { deliveriesProjection } from '#app/projections/deliveries.js';
import { projections } from '#app/projector/projections.js';
import { runProjections } from '#app/projector/runner.js';
import { rebuildProjection } from '#app/rebuild/rebuild.js';
import { type Inside, openInside, openTenant } from './harness.js';

let inside: Inside;

beforeEach(async () => {
  inside = await openInside();
  await openTenant(inside, 'acme');
  await openTenant(inside, 'acme2');
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
const givenUp: DeliveryEvent = { type: 'DeliveryFailed', data: { attempts: 1, reason: 'No attempt is left.' } };

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
  test('a request makes an open entry', async () => {
    const entry = await recorded('d1', [requested()]);
    expect(entry).toEqual({
      id: 'd1',
      revision: 0,
      position: expect.any(Number),
      webhookId: 'hook',
      messageId: 'd1',
      kind: 'order.approved',
      purpose: null,
      orderId: 'order',
      table: null,
      sequence: 7,
      requestedAt: second(0),
      state: 'open',
      endedAt: null,
      reason: null,
      retryAt: null,
      attempts: [],
    });
    expect(entry?.position).toBe(await inside.eventStore.head());
  });

  test('a replay of a reference event shows its purpose, the first message id, and the table', async () => {
    const replay = {
      kind: 'reference.cleaned_up',
      orderId: '',
      table: 'dyn_item',
      purpose: 'resend',
      messageId: 'd0',
    } as const;
    expect(await recorded('d1', [requested(replay)])).toMatchObject({
      messageId: 'd0',
      purpose: 'resend',
      orderId: null,
      table: 'dyn_item',
    });
  });

  const firstAttempt = { attempt: 1, url: 'https://erp.example/1', startedAt: second(1) };
  const notYet = { endedAt: null, durationMs: null, status: null, reason: null, responseBody: null };
  const oops = { endedAt: second(2), durationMs: 12, status: 500, reason: 'HTTP 500', responseBody: 'Oops' };

  test.each<[string, readonly DeliveryEvent[], Partial<DeliveryLogEntry>]>([
    ['an attempt that is being made', [started(1)], { state: 'open', attempts: [{ ...firstAttempt, ...notYet }] }],
    [
      'a failed one, and when the next is due',
      [started(1), failed(1, second(30))],
      { state: 'open', retryAt: second(30), attempts: [{ ...firstAttempt, ...oops }] },
    ],
    [
      'the next one, which is due no more',
      [started(1), failed(1, second(30)), started(2)],
      {
        state: 'open',
        retryAt: null,
        attempts: [
          { ...firstAttempt, ...oops },
          { attempt: 2, url: 'https://erp.example/2', startedAt: second(3), ...notYet },
        ],
      },
    ],
    [
      'a success',
      [started(1), succeeded(1, 'Thanks')],
      {
        state: 'succeeded',
        endedAt: second(2),
        attempts: [
          { ...firstAttempt, endedAt: second(2), durationMs: 34, status: 202, reason: null, responseBody: 'Thanks' },
        ],
      },
    ],
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
    [
      'giving up',
      [started(1), failed(1), givenUp],
      {
        state: 'failed',
        endedAt: second(3),
        reason: 'No attempt is left.',
        retryAt: null,
        attempts: [{ ...firstAttempt, ...oops }],
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

  test.each([{}, { tenant: 'acme' }])('a rebuild of %j shows what was there before, and goes on', async (scope) => {
    await recorded('d1', [requested(), started(1), failed(1), givenUp]);
    await recorded('d2', [requested(), started(1)]);
    await recorded('d1', [requested()], { tenant: 'acme2' });
    const shown = async () => ({
      acme: await inside.readModels.deliveries('acme', { webhookId: 'hook', limit: 10 }),
      acme2: await inside.readModels.deliveries('acme2', { webhookId: 'hook', limit: 10 }),
      backlog: new Set(await inside.readModels.deliveryBacklog()),
      health: await inside.readModels.webhookHealth('acme', 'hook'),
    });
    const before = await shown();
    expect(before.acme).toHaveLength(2);
    await rebuildProjection(inside, { projection: 'deliveries', ...scope });
    expect(await shown()).toEqual(before);
    expect(await recorded('d2', [succeeded(1)], { from: 2 })).toMatchObject({ state: 'succeeded', revision: 2 });
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

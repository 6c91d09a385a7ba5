/** A webhook that has failed for too long is disabled; what it should get waits (spec §6.4). */
import { pino } from 'pino';
import { newId } from '#app/commands/clock.js';
import { loadDelivery } from '#app/commands/webhooks/deliveryStream.js';
import { changeWebhook, createWebhook, disableWebhook } from '#app/commands/webhooks/settings.js';
import { deliveryStream } from '#app/domain/streams.js';
import { ReceiverHealth } from '#app/webhooks/receiverHealth.js';
import { callerOf, Logged, TENANT } from './logged.js';

const caller = callerOf(TENANT);
const RECEIVER = 'https://erp.example.com/';
const hoursAgo = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString().replace('Z', '000Z');

let logged: Logged;
beforeEach(async () => {
  logged = await Logged.open();
  await logged.projections();
});
afterEach(() => logged.close());

const disabled = (id: string) => logged.commands.directory.tenant(TENANT)?.webhooks.get(id)?.disabled;

/** A webhook created hours ago, with one attempt of that time. */
async function madeHoursAgo(hours: number, outcome: 'DeliveryAttemptFailed' | 'DeliverySucceeded') {
  const at = hoursAgo(hours);
  const then = { ...logged.commands, now: () => at };
  const { id } = await createWebhook(then, caller, { url: RECEIVER }, async () => undefined);
  const deliveryId = newId();
  const subject = { webhookId: id, kind: 'order.approved', orderId: '', sourceEventId: '', sourceRevision: 0 };
  const ended = { attempt: 1, reason: 'HTTP 500', status: 500, durationMs: 1, responseBody: null };
  await logged.appendAt(
    at,
    deliveryStream(TENANT, deliveryId),
    { type: 'DeliveryRequested', data: subject },
    { type: 'DeliveryAttemptStarted', data: { attempt: 1, url: RECEIVER } },
    { type: outcome, data: ended },
  );
  return { id, deliveryId };
}

/** Failures in a row that a process sees at its attempts. */
async function fail(deliveryId: string, times: number, disableAfterHours: number, commands = logged.commands) {
  const health = new ReceiverHealth(commands, pino({ level: 'silent' }), disableAfterHours);
  const loaded = await loadDelivery(logged.commands.eventStore, { tenant: TENANT, deliveryId });
  if (loaded === undefined) throw new Error('There is no delivery.');
  const failure = { ok: false, status: 500, reason: 'HTTP 500', durationMs: 1, responseBody: null } as const;
  for (let n = 1; n <= times; n++) await health.failed(loaded, RECEIVER, failure, n);
}

test('without a success for so many hours it is disabled, by more failures than a single delivery has', async () => {
  const { id, deliveryId } = await madeHoursAgo(3, 'DeliveryAttemptFailed');
  await fail(deliveryId, 5, 2);
  expect(disabled(id)).toBeUndefined();
  await fail(deliveryId, 6, 2);
  expect(disabled(id)).toMatchObject({ cause: 'failing', reason: expect.stringContaining('No attempt') });
});

test('it has as long again when it is enabled', async () => {
  const { id, deliveryId } = await madeHoursAgo(3, 'DeliveryAttemptFailed');
  await disableWebhook(logged.commands, caller, id, { cause: 'admin', reason: 'holidays' });
  await changeWebhook(logged.commands, caller, id, { enabled: true }, async () => undefined);
  await fail(deliveryId, 10, 2);
  expect(disabled(id)).toBeUndefined();
});

/** A webhook that has failed for too long is disabled; what it should get waits (spec §6.4). */
import { pino } from 'pino';
import { newId } from '#app/commands/clock.js';
import { loadDelivery } from '#app/commands/webhooks/deliveryStream.js';
import { changeWebhook, createWebhook, disableWebhook } from '#app/commands/webhooks/settings.js';
import { deliveryStream } from '#app/domain/streams.js';
import { RowsUnavailableError } from '#app/ports/rowStore.js';
import { disableIfLost } from '#app/webhooks/deliver.js';
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

/** As at a delivery's last attempt. */
async function fail(deliveryId: string) {
  const { commands } = logged;
  const loaded = await loadDelivery(commands.eventStore, { tenant: TENANT, deliveryId });
  if (loaded === undefined) throw new Error('There is no delivery.');
  const last = { ...loaded, delivery: { ...loaded.delivery, started: 5 } };
  const failure = { ok: false, status: 500, reason: 'HTTP 500', durationMs: 1, responseBody: null } as const;
  await disableIfLost({ commands, logger: pino({ level: 'silent' }) }, last, RECEIVER, failure);
}

test.each([
  [119, undefined],
  [121, { cause: 'failing', reason: expect.stringContaining('No attempt') }],
])('after %s hours without a success it is %j', async (hours, expected) => {
  const { id, deliveryId } = await madeHoursAgo(hours, 'DeliveryAttemptFailed');
  await fail(deliveryId);
  if (expected === undefined) expect(disabled(id)).toBeUndefined();
  else expect(disabled(id)).toMatchObject(expected);
});

test('where its delivery log cannot be read, as while rows are made or its tenant is deleted, the next failure decides', async () => {
  const { id, deliveryId } = await madeHoursAgo(121, 'DeliveryAttemptFailed');
  const { deliveries } = logged.commands.queries;
  const read = jest.spyOn(deliveries, 'failingSince').mockRejectedValueOnce(new RowsUnavailableError('They are made.'));
  await fail(deliveryId);
  expect(disabled(id)).toBeUndefined();
  read.mockRestore();
  await fail(deliveryId);
  expect(disabled(id)).toMatchObject({ cause: 'failing' });
});

test('it has as long again when it is enabled', async () => {
  const { id, deliveryId } = await madeHoursAgo(121, 'DeliveryAttemptFailed');
  await disableWebhook(logged.commands, caller, id, { cause: 'admin', reason: 'holidays' });
  await changeWebhook(logged.commands, caller, id, { enabled: true }, async () => undefined);
  await fail(deliveryId);
  expect(disabled(id)).toBeUndefined();
});

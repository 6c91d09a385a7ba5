/** A clock that was ahead, and is put back between two starts: what comes before what is decided by the log; and time that passes. */

import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { IDEMPOTENCY_KEY_HOURS } from '#app/domain/limits.js';
import { addWebhook, approvedOrder, quickDelivery, type Webhook } from '../export.js';
import { askSession } from '../people.js';
import { Receiver } from '../receiver.js';
import { expectRefused } from '../refusals.js';
import { useService } from '../useService.js';

const HOURS_MS = 3_600_000;

const receiver = Receiver.ofTests();
let deliveredTo: Webhook;
const { acme, service } = useService(async () => ({
  tenants: { acme: 'dyn_stock_order' },
  env: {
    ...quickDelivery(receiver),
    WEBHOOK_BACKOFF_MS: '0,1000',
    TOKEN_TTL_SECONDS: '86400',
    DELIVERY_LOG_DAYS: '3',
    NODE_OPTIONS: `--require ${fileURLToPath(new URL('../clock.cjs', import.meta.url))}`,
  },
}));
const putClock = (aheadMs: number) => writeFile(`${service().dataDir}/clock`, String(aheadMs));

beforeAll(async () => {
  await putClock(2 * HOURS_MS);
  await service().restart();
});

it('an order reaches webhooks that were made, changed or enabled while the clock was ahead', async () => {
  receiver.reply('/tried', (nth) => ({ status: nth === 1 ? 500 : 200 }));
  const events = ['order.approved'];
  await addWebhook(acme(), receiver.url('/made'), { events });
  const changed = await addWebhook(acme(), receiver.url('/changed'), { events: ['order.export_failed'] });
  await acme().platformData('PUT', `/webhooks/${changed.id}`, { events });
  const enabled = await addWebhook(acme(), receiver.url('/enabled'), { events });
  for (const is of [false, true]) await acme().platformData('PUT', `/webhooks/${enabled.id}`, { enabled: is });
  deliveredTo = await addWebhook(acme(), receiver.url('/tried'), { events });
  await approvedOrder(acme());
  for (const path of ['/made', '/changed', '/enabled', '/tried']) await receiver.received(path, 1);

  await putClock(0);
  await service().restart();
  await receiver.received('/tried', 2);
  await approvedOrder(acme());
  for (const path of ['/made', '/changed', '/enabled']) await receiver.received(path, 2);
  await receiver.received('/tried', 3);
  // What the clock dated later than now is in a range without an end.
  const range = { from: '2020-01-01T00:00:00Z' };
  await acme().platformData('POST', `/webhooks/${deliveredTo.id}/backfill`, range);
  await receiver.received('/tried', 5);
});

it('an Idempotency-Key stands for its first request for a day, then for a new one', async () => {
  const send = () => acme().postRecord('dyn_stock_order', { notes: 'once' }, { headers: { 'idempotency-key': 'k' } });
  const [first, again] = [await send(), await send()];
  expect([again.text, again.headers['idempotency-replayed']]).toEqual([first.text, 'true']);
  await putClock((IDEMPOTENCY_KEY_HOURS + 1) * HOURS_MS);
  await service().restart();
  // The token is of a time when the clock was ahead.
  const later = await send();
  expect(later.status).toBe(201);
  expect(later.headers['idempotency-replayed']).toBeUndefined();
  expect(later.headers.location).not.toBe(first.headers.location);
});

it('a first password is good for seven days, a token for TOKEN_TTL_SECONDS, a delivery log for DELIVERY_LOG_DAYS', async () => {
  const email = 'late@example.com';
  const user = { email, first_name: 'L', last_name: 'B', roles: ['validator'] };
  const made = z.object({ id: z.int(), password: z.string(), first_password_ends_at: z.iso.datetime() });
  const byAdmin = async (path: string, body: object) => {
    const token = await acme().signIn(acme().admin);
    return z.object({ data: made }).parse((await acme().platform('POST', path, { token, body })).body).data;
  };
  const invited = await byAdmin('/users', user);
  expect((await askSession(acme(), email, invited.password)).status).toBe(200);
  await putClock(25 * HOURS_MS + 7 * 24 * HOURS_MS);
  await service().restart();
  await expectRefused(service(), 401, () => acme().getList('dyn_item'));
  const late = await askSession(acme(), email, invited.password);
  expect(late).toMatchObject({ status: 401, body: { error: expect.stringContaining('ask an admin') } });
  const { password } = await byAdmin(`/users/${invited.id}/password`, {});
  expect((await askSession(acme(), email, password)).status).toBe(200);
  const token = await acme().signIn(acme().admin);
  const { body } = await acme().platform('GET', `/webhooks/${deliveredTo.id}/deliveries`, { token });
  expect(body).toMatchObject({ data: [] });
});

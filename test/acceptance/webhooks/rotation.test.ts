/** Secrets as the receiver sees them: through a rotation (two live secrets), and through changes of SECRETS_KEY. */
import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { addWebhook, approve, validatedOrder, type Webhook } from '../export.js';
import { type Call, Receiver } from '../receiver.js';
import type { TenantClient } from '../tenant.js';
import { useService } from '../useService.js';

const receiver = Receiver.ofTests();
const run = useService({ tenants: { acme: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');

const bodySigned = (call: Call, secret: string): boolean =>
  call.headers.signature === createHmac('sha256', secret).update(call.body).digest('hex');

/** One for each entry of webhook-signature that is by the secret. */
function entriesBy(call: Call, secret: string): number {
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': entries } = call.headers;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const expected = `v1,${createHmac('sha256', key).update(`${id}.${time}.`).update(call.body).digest('base64')}`;
  return String(entries)
    .split(' ')
    .filter((entry) => entry === expected).length;
}

const signedBy = (call: Call | undefined, ...secrets: readonly string[]) => {
  if (call === undefined) throw new Error('No call.');
  return {
    signature: secrets.map((secret) => bodySigned(call, secret)),
    standard: secrets.map((secret) => entriesBy(call, secret)),
    entries: String(call.headers['webhook-signature']).split(' ').length,
  };
};

/** The call that the nth export of an order leads to. */
async function exported(tenant: TenantClient, path: string, nth: number): Promise<Call | undefined> {
  const { order } = await validatedOrder(tenant);
  await approve(tenant, order.id);
  return (await receiver.received(path, nth)).at(nth - 1);
}

const secretFrom = async (tenant: TenantClient, { id }: Webhook, below: string): Promise<string> =>
  z.looseObject({ secret: z.string() }).parse(await tenant.platformData('POST', `/webhooks/${id}${below}`)).secret;

it('§6.3: both secrets sign during a rotation; Signature is by the old one until the new one is promoted', async () => {
  const webhook = await addWebhook(acme(), receiver.url('/rotated'));
  const old = webhook.secret;
  const before = await exported(acme(), '/rotated', 1);
  const staged = await secretFrom(acme(), webhook, '/secret/rotate');
  expect(signedBy(before, old, staged)).toEqual({ signature: [true, false], standard: [1, 0], entries: 1 });
  const during = await exported(acme(), '/rotated', 2);
  expect(signedBy(during, old, staged)).toEqual({ signature: [true, false], standard: [1, 1], entries: 2 });
  await acme().platformData('POST', `/webhooks/${webhook.id}/secret/promote`);
  const after = await exported(acme(), '/rotated', 3);
  expect(signedBy(after, old, staged)).toEqual({ signature: [false, true], standard: [0, 1], entries: 1 });
});

it('an attempt is signed with the secrets and the time of its own, under the id of the first', async () => {
  const webhook = await addWebhook(acme(), receiver.url('/retried'));
  receiver.reply('/retried', (nth) => ({ status: nth === 1 ? 503 : 200, headers: { 'retry-after': '1' } }));
  const first = await exported(acme(), '/retried', 1);
  const renewed = await secretFrom(acme(), webhook, '/secret');
  const second = (await receiver.received('/retried', 2)).at(1);
  expect(signedBy(first, webhook.secret, renewed)).toMatchObject({ signature: [true, false], standard: [1, 0] });
  expect(signedBy(second, webhook.secret, renewed)).toMatchObject({ signature: [false, true], standard: [0, 1] });
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
  expect(Number(second?.headers['webhook-timestamp'])).toBeGreaterThan(Number(first?.headers['webhook-timestamp']));
});

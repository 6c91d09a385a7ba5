/** Secrets as the receiver sees them through a rotation. */
import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { addWebhook, approvedOrder, type Webhook } from '../export.js';
import { type Call, Receiver } from '../receiver.js';
import type { TenantClient } from '../tenant.js';
import { useService } from '../useService.js';

const receiver = Receiver.ofTests();
const { acme } = useService({ tenants: { acme: 'dyn_stock_order' } });

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
  await approvedOrder(tenant);
  return (await receiver.received(path, nth)).at(nth - 1);
}

const secretFrom = async (tenant: TenantClient, { id }: Webhook, below: string): Promise<string> =>
  z.looseObject({ secret: z.string() }).parse(await tenant.platformData('POST', `/webhooks/${id}${below}`)).secret;

it('§6.3: Signature is by the new secret from its rotation on, also of an attempt of before; both sign for a day', async () => {
  const webhook = await addWebhook(acme(), receiver.url('/rotated'));
  receiver.reply('/rotated', (nth) => ({ status: nth === 1 ? 503 : 200, headers: { 'retry-after': '1' } }));
  const first = await exported(acme(), '/rotated', 1);
  const rotated = await secretFrom(acme(), webhook, '/secret/rotate');
  expect(signedBy(first, webhook.secret, rotated)).toEqual({ signature: [true, false], standard: [1, 0], entries: 1 });
  const second = (await receiver.received('/rotated', 2)).at(1);
  expect(signedBy(second, webhook.secret, rotated)).toEqual({ signature: [false, true], standard: [1, 1], entries: 2 });
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
  expect(Number(second?.headers['webhook-timestamp'])).toBeGreaterThan(Number(first?.headers['webhook-timestamp']));
});

/** Secrets as the receiver sees them: through a rotation (two live secrets), and through changes of SECRETS_KEY. */
import { createHmac } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { addWebhook, approve, deliveriesEnded, quickDelivery, validatedOrder, type Webhook } from '../export.js';
import { type Call, Receiver } from '../receiver.js';
import { Service } from '../service.js';
import { TenantClient } from '../tenant.js';
import { useService } from '../useService.js';

const receiver = Receiver.ofTests();
const run = useService({ tenants: { acme: 'dyn_stock_order' } });
const POLL_MS = 20;
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

it('docs/webhooks.md: a change of SECRETS_KEY in the midst of a rotation is not noticed; one that is lost takes a new secret', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'dynamic-assets-'));
  const withKeys = (...bytes: readonly number[]): Service => {
    const keys = bytes.map((byte) => Buffer.alloc(32, byte).toString('base64'));
    return new Service(directory, { ...quickDelivery(receiver), SECRETS_KEY: keys.join() });
  };
  const { admin, client } = await withKeys(1).createTenant('acme', 'dyn_stock_order');
  /** A service with these keys, for the time of `work`. */
  async function during<T>(service: Service, work: (tenant: TenantClient) => Promise<T>): Promise<T> {
    await service.start();
    try {
      return await work(new TenantClient(service, { tenant: 'acme', admin, client }, 'dyn_stock_order'));
    } finally {
      await service.stop();
    }
  }
  const { webhook, staged } = await during(withKeys(1), async (tenant) => {
    const added = await addWebhook(tenant, receiver.url('/exchanged'));
    return { webhook: added, staged: await secretFrom(tenant, added, '/secret/rotate') };
  });
  const signed = async (tenant: TenantClient, nth: number) =>
    signedBy(await exported(tenant, '/exchanged', nth), webhook.secret, staged);
  const asBefore = { signature: [true, false], standard: [1, 1], entries: 2 };

  const both = withKeys(2, 1);
  await during(both, async (tenant) => {
    expect(await signed(tenant, 1)).toEqual(asBefore);
    expect(await both.cli('webhook', 'reseal')).toMatchObject({ code: 0 });
    expect(await signed(tenant, 2)).toEqual(asBefore);
  });
  await during(withKeys(2), async (tenant) => expect(await signed(tenant, 3)).toEqual(asBefore));

  const another = withKeys(3);
  await expect(another.start()).rejects.toThrow('No key of this process opens the key that signs tokens');
  expect(await another.cli('keys', 'rotate', '--lost-secrets-key')).toMatchObject({ code: 0 });
  await during(another, async (tenant) => {
    const call = exported(tenant, '/exchanged', 4);
    while (!another.log.includes('it was sealed under another key')) await wait(POLL_MS);
    const renewed = await secretFrom(tenant, webhook, '/secret');
    expect(signedBy(await call, webhook.secret, renewed)).toMatchObject({ signature: [false, true], standard: [0, 1] });
    const [waited] = await deliveriesEnded(tenant, webhook.id, 4);
    expect(waited).toMatchObject({ state: 'succeeded', attempts: [{}] });
  });
  await another.dispose();
});

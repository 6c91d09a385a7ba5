/** The delivery log of a webhook (spec §6.4): what was called when, what came back, and what became of it. */
import { gzipSync } from 'node:zlib';
import { z } from 'zod';
import { itOfRequests } from '../../onProductionEngines/repetition.js';
import { addWebhook, approvedOrder, deliveriesEnded, type Webhook } from '../export.js';
import { Receiver } from '../receiver.js';
import { expectRefused } from '../refusals.js';
import type { TenantClient } from '../tenant.js';
import { useService } from '../useService.js';

const receiver = Receiver.ofTests();
const { acme, service } = useService({ tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' } });

const delivery = z.looseObject({
  id: z.uuid(),
  order_id: z.uuid().nullable(),
  requested_at: z.string(),
  attempts: z.array(
    z.looseObject({
      started_at: z.string(),
      ended_at: z.string().nullable(),
      duration_ms: z.number().nullable(),
      reason: z.string().nullable(),
      response_body: z.string().nullable(),
    }),
  ),
});
type Delivery = z.output<typeof delivery>;
const page = z.strictObject({ data: z.array(delivery), links: z.strictObject({ next: z.string().nullable() }) });

const logPath = (id: string) => `/webhooks/${id}/deliveries`;
async function log(webhook: Webhook, query: Record<string, string> = {}, tenant: TenantClient = acme()) {
  const answer = await tenant.platform('GET', logPath(webhook.id), { query });
  if (answer.status !== 200) throw new Error(answer.text);
  return page.parse(answer.body);
}

/** The log when this many deliveries in it have ended. */
async function ended(webhook: Webhook, count: number): Promise<readonly Delivery[]> {
  await deliveriesEnded(acme(), webhook.id, count);
  return (await log(webhook)).data;
}

it('an answer with a content coding, which was not asked for, is shown by its size', async () => {
  const body = gzipSync('Oops');
  receiver.reply('/coded', () => ({ status: 200, body, headers: { 'content-encoding': 'gzip' } }));
  const webhook = await addWebhook(acme(), receiver.url('/coded'), { events: ['order.approved'] });
  await approvedOrder(acme());
  const [only] = await ended(webhook, 1);
  expect(only?.attempts[0]?.response_body).toBe(`<gzip, ${body.length} bytes>`);
  await acme().platform('DELETE', `/webhooks/${webhook.id}`);
});

it('§6.4: a delivery shows each attempt with its time, status, duration and the first part of the answer', async () => {
  const long = 'x'.repeat(5_000);
  const failure = { status: 500, body: `Oops ☕ ${long}`, headers: { 'x-id': '7', 'set-cookie': 's=1' } };
  receiver.reply('/second', (nth) => (nth === 1 ? failure : { status: 200 }));
  const webhook = await addWebhook(acme(), receiver.url('/second'), { events: ['order.approved'] });
  const orderId = await approvedOrder(acme());
  const [only, ...others] = await ended(webhook, 1);
  expect(others).toEqual([]);
  expect(only).toMatchObject({
    kind: 'order.approved',
    purpose: null,
    order_id: orderId,
    table: null,
    state: 'succeeded',
    reason: null,
    retry_at: null,
  });
  expect(only?.message_id).toBe(only?.id);
  const [first, second] = only?.attempts ?? [];
  expect(first).toMatchObject({ attempt: 1, url: receiver.url('/second'), status: 500 });
  expect(first?.reason).toMatch(/500/);
  expect(first?.duration_ms).toBeGreaterThanOrEqual(0);
  expect(first?.response_headers).toMatchObject({ 'x-id': '7', date: expect.stringContaining('GMT') });
  expect(first?.response_headers).not.toHaveProperty('set-cookie');
  expect(first?.response_body).toMatch(/^Oops ☕ x{100}/);
  expect(first?.response_body?.length).toBeLessThan(long.length);
  expect(second).toMatchObject({ attempt: 2, status: 200, reason: null });
  const times = [only?.requested_at, first?.started_at, first?.ended_at, second?.started_at, second?.ended_at];
  expect(times).toEqual([...times].sort());
  expect(only?.ended_at).toBe(second?.ended_at);

  const one = await acme().platformData('GET', `${logPath(webhook.id)}/${only?.id}`);
  expect(one).toEqual(only);
  await acme().platform('DELETE', `/webhooks/${webhook.id}`);
});

describe('the log of a webhook', () => {
  let webhook: Webhook;
  let all: readonly Delivery[];
  const orders: string[] = [];

  beforeAll(async () => {
    receiver.reply('/log', (nth) => ({ status: nth <= 5 ? 500 : 200 }));
    webhook = await addWebhook(acme(), receiver.url('/log'), { events: ['order.approved'] });
    for (let n = 1; n <= 4; n++) {
      orders.push(await approvedOrder(acme()));
      all = await ended(webhook, n);
    }
  });

  const ids = async (query: Record<string, string>) => (await log(webhook, query)).data.map(({ id }) => id);
  const idsOf = (some: readonly Delivery[]) => some.map(({ id }) => id);

  it('is filtered by state, event, order and time', async () => {
    expect(await ids({ state: 'failed' })).toEqual(idsOf(all.slice(3)));
    expect(await ids({ state: 'succeeded' })).toEqual(idsOf(all.slice(0, 3)));
    expect(await ids({ state: 'open' })).toEqual([]);
    expect(await ids({ event: 'order.approved' })).toEqual(idsOf(all));
    expect(await ids({ event: 'order.updated' })).toEqual([]);
    expect(await ids({ order_id: orders[1] ?? '' })).toEqual(idsOf(all.slice(2, 3)));
    expect(await ids({ order_id: (orders[1] ?? '').toUpperCase() })).toEqual(idsOf(all.slice(2, 3)));
    expect(await ids({ order_id: 'none' })).toEqual([]);
    const since = all[1]?.requested_at ?? '';
    expect(await ids({ since })).toEqual(idsOf(all.slice(0, 2)));
    expect(await ids({ since: '2999-01-01T00:00:00+02:00' })).toEqual([]);
  });

  it('has pages, each of which links to the next with the same filters', async () => {
    const seen: string[] = [];
    let query: Record<string, string> = { limit: '2', state: 'succeeded' };
    let pages = 0;
    for (;;) {
      const { data, links } = await log(webhook, query);
      seen.push(...idsOf(data));
      pages += 1;
      if (links.next === null) break;
      const next = new URL(links.next);
      expect(next.host).toBe(acme().host);
      expect(next.pathname).toBe(`/api/v1/platform${logPath(webhook.id)}`);
      query = Object.fromEntries(next.searchParams);
      expect(query).toMatchObject({ limit: '2', state: 'succeeded' });
    }
    expect(pages).toBe(2);
    expect(seen).toEqual(idsOf(all.slice(0, 3)));
    expect((await log(webhook, { limit: '4' })).links.next).toBeNull();
  });

  itOfRequests.each([
    ['state', 'done'],
    ['event', 'order.eaten'],
    ['since', '2026-02-30T00:00:00Z'],
    ['limit', '101'],
    ['cursor', 'x'],
  ])('§7: %s=%s is 400, and the answer names it', async (name, value) => {
    const answer = await expectRefused(service(), 400, () =>
      acme().platform('GET', logPath(webhook.id), { query: { [name]: value } }),
    );
    expect(Reflect.get(Object(answer.body), 'error')).toMatch(new RegExp(`^${name} `));
  });

  it('stays readable when the webhook is removed', async () => {
    await acme().platform('DELETE', `/webhooks/${webhook.id}`);
    expect((await log(webhook)).data).toEqual(all);
    expect((await log(webhook, { state: 'open' })).data).toEqual([]);
    expect(await acme().platformData('GET', `${logPath(webhook.id)}/${all[0]?.id}`)).toEqual(all[0]);
  });
});

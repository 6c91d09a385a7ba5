/**
 * Two processes deliver for several tenants, and one is killed with calls under way. Only what was under way then may be
 * sent twice, all else is sent by the survivor within seconds, and the deliveries of an order keep their order.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { addWebhook, approve, type Webhook } from '../acceptance/export.js';
import type { Call, Receiver } from '../acceptance/receiver.js';
import type { Service } from '../acceptance/service.js';
import type { TenantClient } from '../acceptance/tenant.js';
import { scaled } from '../engines/timeScale.js';

const KINDS = ['order.created', 'order.status_changed', 'order.approved'];
/** Of an order that is created and approved. */
const DELIVERIES_PER_ORDER = KINDS.length;
const WEBHOOKS = 2;
const ORDERS = 12;
const ANSWER_AFTER_MS = 150;
/** Share of the deliveries that have begun when a process is killed. */
const KILL_AT = 0.3;
/** Until all that was not under way has arrived. */
const REST_WITHIN_MS = scaled(5_000);
const CUT_OFF = 'The service stopped before the outcome was known.';

const delivery = z.looseObject({
  id: z.string(),
  state: z.string(),
  order_id: z.string(),
  attempts: z.array(z.looseObject({ reason: z.string().nullable(), started_at: z.string() })),
});
const deliveryLog = z.looseObject({ data: z.array(delivery) });
type Logged = z.output<typeof delivery> & { readonly path: string };

type Subscribed = { readonly tenant: TenantClient; readonly path: string; readonly webhook: Webhook };

/** @param tenants without webhooks. `kill` ends one of the processes that deliver for them */
export async function killWithCallsUnderWay(
  tenants: readonly TenantClient[],
  receiver: Receiver,
  kill: Service['kill'],
): Promise<void> {
  const subscribed = await subscribe(tenants, receiver);
  const paths = subscribed.map(({ path }) => path);
  const calls = (): readonly Call[] => paths.flatMap((path) => receiver.calls(path));
  const all = tenants.length * WEBHOOKS * ORDERS * DELIVERIES_PER_ORDER;
  const approving = Promise.all(tenants.map(approveOrders));
  while (calls().length < KILL_AT * all) await wait(5);
  await kill();
  const killedAt = Date.now();
  await approving;
  const logged = await settled(subscribed, all);
  const interrupted = logged.filter(({ attempts }) => attempts.some(({ reason }) => reason === CUT_OFF));
  expect(interrupted.length).toBeGreaterThan(0);
  for (const { attempts, state } of interrupted) {
    expect(Date.parse(attempts[0]?.started_at ?? '')).toBeLessThanOrEqual(killedAt);
    expect({ attempts: attempts.length, state }).toEqual({ attempts: 2, state: 'succeeded' });
  }
  const times = new Map<string, number[]>();
  for (const { path, headers, at } of calls()) {
    const key = `${path} ${headers['webhook-id']}`;
    times.set(key, [...(times.get(key) ?? []), at]);
  }
  expect(times.size).toBe(all);
  const keyOf = ({ path, id }: Logged): string => `${path} ${id}`;
  const mayRepeat = new Set(interrupted.map(keyOf));
  expect([...times].filter(([key, at]) => at.length > 1 && !mayRepeat.has(key))).toEqual([]);
  // Those behind an interrupted one wait for it.
  const held = new Set(interrupted.map(({ path, order_id }) => `${path} ${order_id}`));
  const rest = logged.filter(({ path, order_id }) => !held.has(`${path} ${order_id}`));
  expect(rest.length).toBeGreaterThan(all / 3);
  const latest = Math.max(...rest.map((each) => times.get(keyOf(each))?.[0] ?? Number.POSITIVE_INFINITY));
  expect(latest - killedAt).toBeLessThan(REST_WITHIN_MS);
  for (const path of paths) checkOrder(receiver.calls(path));
}

async function subscribe(tenants: readonly TenantClient[], receiver: Receiver): Promise<readonly Subscribed[]> {
  const subscribed: Subscribed[] = [];
  for (const tenant of tenants) {
    for (let n = 1; n <= WEBHOOKS; n++) {
      const path = `/under-way/${tenant.name}/${n}`;
      receiver.reply(path, () => ({ status: 200, afterMs: ANSWER_AFTER_MS }));
      const webhook = await addWebhook(tenant, receiver.url(path), { events: KINDS });
      subscribed.push({ tenant, path, webhook });
    }
  }
  return subscribed;
}

async function approveOrders(tenant: TenantClient): Promise<void> {
  const order = { customer_reference: 'PO', processing_status: 'validated' };
  const one = async (): Promise<void> => approve(tenant, (await tenant.create('dyn_stock_order', order)).id);
  for (let n = 0; n < ORDERS; n += 4) await Promise.all([one(), one(), one(), one()]);
}

/** The delivery logs, once all have ended. */
async function settled(subscribed: readonly Subscribed[], count: number): Promise<readonly Logged[]> {
  for (;;) {
    const logs = await Promise.all(
      subscribed.map(async ({ tenant, webhook, path }) => {
        const { body } = await tenant.platform('GET', `/webhooks/${webhook.id}/deliveries`, {
          query: { limit: '100' },
        });
        return deliveryLog.parse(body).data.map((each) => ({ ...each, path }));
      }),
    );
    const logged = logs.flat();
    if (logged.length === count && logged.every(({ state }) => state !== 'open')) return logged;
    await wait(200);
  }
}

/** A webhook gets the deliveries of one order in the order of its events; a later one begins when the one before is over. */
function checkOrder(calls: readonly Call[]): void {
  const sequences = new Map<string, number[]>();
  for (const { body, headers } of calls) {
    const { id } = z
      .object({ validated_order: z.looseObject({ id: z.string() }) })
      .parse(JSON.parse(String(body))).validated_order;
    sequences.set(id, [...(sequences.get(id) ?? []), Number(headers['webhook-sequence'])]);
  }
  expect(sequences.size).toBe(ORDERS);
  for (const seen of sequences.values()) expect(seen).toEqual(seen.toSorted((a, b) => a - b));
}

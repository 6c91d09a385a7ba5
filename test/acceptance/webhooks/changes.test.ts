/** Changing a webhook, and whether it is enabled (spec §6.5). */
import { z } from 'zod';
import { addWebhook, type Webhook } from '../export.js';
import { useService } from '../useService.js';

const { acme, service } = useService({ tenants: { acme: 'dyn_stock_order' } });
const GOOD = 'https://127.0.0.1:9/orders';

const shown = z.looseObject({
  disabled: z.looseObject({ reason: z.string(), since: z.string() }).nullable(),
});

const see = async (id: string) => shown.parse(await acme().platformData('GET', `/webhooks/${id}`));
const change = (id: string, body: unknown) => acme().platform('PUT', `/webhooks/${id}`, { body });
const switched = async (id: string, enabled: boolean) =>
  shown.parse(await acme().platformData('PUT', `/webhooks/${id}`, { enabled }));

describe('PUT changes it', () => {
  let made: Webhook;
  beforeEach(async () => {
    made = await addWebhook(acme(), GOOD, { name: 'ERP', custom_data: { company: 7 } });
  });

  it('what the body does not name stays', async () => {
    const before = await see(made.id);
    const answer = await change(made.id, { name: 'WMS', events: ['order.updated', 'order.created'] });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ data: { ...before, name: 'WMS', events: ['order.created', 'order.updated'] } });
    expect(await see(made.id)).toEqual({ ...before, name: 'WMS', events: ['order.created', 'order.updated'] });
    expect((await change(made.id, { url: 'https://127.0.0.1:9/new', custom_data: {} })).status).toBe(200);
    expect(await see(made.id)).toMatchObject({ name: 'WMS', url: 'https://127.0.0.1:9/new', custom_data: {} });
  });

  it('a change to what it is already stores nothing', async () => {
    const head = await service().logHead();
    const same = { name: 'ERP', url: GOOD, events: ['order.approved'], custom_data: { company: 7 } };
    for (const body of [{}, same]) expect((await change(made.id, body)).status).toBe(200);
    expect(await service().logHead()).toBe(head);
  });
});

it('a disabled webhook shows why and since when; disabling it once more changes nothing', async () => {
  const { id } = await addWebhook(acme(), GOOD);
  const off = await switched(id, false);
  expect(off).toMatchObject({ enabled: false, disabled: { cause: 'admin', reason: 'Disabled by an admin.' } });
  expect(Date.parse(off.disabled?.since ?? '')).toBeLessThanOrEqual(Date.now());
  const head = await service().logHead();
  expect(await switched(id, false)).toEqual(off);
  expect(await service().logHead()).toBe(head);
  expect(await switched(id, true)).toMatchObject({ enabled: true, disabled: null });
  const enabled = await service().logHead();
  expect(await switched(id, true)).toMatchObject({ enabled: true });
  expect(await service().logHead()).toBe(enabled);
});

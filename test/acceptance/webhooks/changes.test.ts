/** Changing a webhook, its secret, and whether it is enabled (spec §6.3, §6.5). */
import { z } from 'zod';
import { addWebhook, type Webhook } from '../export.js';
import { expectRefused } from '../refusals.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');
const GOOD = 'https://127.0.0.1:9/orders';

const shown = z.looseObject({
  rotating: z.boolean(),
  disabled: z.looseObject({ reason: z.string(), since: z.string() }).nullable(),
});
const withSecret = shown.extend({ secret: z.string() });

/** Without its health, which no change shows. */
const see = async (id: string) => {
  const { health: _, ...webhook } = shown.parse(await acme().platformData('GET', `/webhooks/${id}`));
  return webhook;
};
const change = (id: string, body: unknown) => acme().platform('PUT', `/webhooks/${id}`, { body });
const command = async (id: string, below: string, body?: unknown) =>
  shown.parse(await acme().platformData('POST', `/webhooks/${id}${below}`, body));
const secretFrom = async (id: string, below: string): Promise<string> =>
  withSecret.parse(await acme().platformData('POST', `/webhooks/${id}${below}`)).secret;

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

  it('§6.3: its rotation and its switch stay', async () => {
    await secretFrom(made.id, '/secret/rotate');
    await command(made.id, '/disable');
    await change(made.id, { name: 'Other' });
    expect(await see(made.id)).toMatchObject({ name: 'Other', enabled: false, rotating: true });
  });

  it('a change to what it is already stores nothing', async () => {
    const head = await run.service.logHead();
    const same = { name: 'ERP', url: GOOD, events: ['order.approved'], custom_data: { company: 7 } };
    for (const body of [{}, same]) expect((await change(made.id, body)).status).toBe(200);
    expect(await run.service.logHead()).toBe(head);
  });
});

describe('rotation of the secret', () => {
  it('§6.3: the new secret is shown once; it is staged, then promoted', async () => {
    const { id, secret } = await addWebhook(acme(), GOOD);
    const answer = await acme().platform('POST', `/webhooks/${id}/secret/rotate`);
    expect(answer.status).toBe(201);
    const staged = withSecret.parse(z.object({ data: z.unknown() }).parse(answer.body).data);
    expect(staged).toMatchObject({ id, rotating: true, secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) });
    expect(staged.secret).not.toBe(secret);
    expect((await see(id)).rotating).toBe(true);
    expect(await command(id, '/secret/promote')).toMatchObject({ id, rotating: false });
  });

  it('it can be taken back, and begun again', async () => {
    const { id } = await addWebhook(acme(), GOOD);
    const first = await secretFrom(id, '/secret/rotate');
    const answer = await acme().platform('DELETE', `/webhooks/${id}/secret/staged`);
    expect({ status: answer.status, text: answer.text }).toEqual({ status: 204, text: '' });
    expect((await see(id)).rotating).toBe(false);
    expect(await secretFrom(id, '/secret/rotate')).not.toBe(first);
  });

  it('§7: a second one, and the end of none, is 409', async () => {
    const { id } = await addWebhook(acme(), GOOD);
    await expectRefused(run.service, 409, () => acme().platform('POST', `/webhooks/${id}/secret/promote`));
    await expectRefused(run.service, 409, () => acme().platform('DELETE', `/webhooks/${id}/secret/staged`));
    const rotate = () => acme().platform('POST', `/webhooks/${id}/secret/rotate`);
    const answers = await Promise.all([rotate(), rotate()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    await expectRefused(run.service, 409, rotate);
  });
});

describe('disable and enable', () => {
  it('a disabled webhook shows why and since when; disabling it once more changes nothing', async () => {
    const { id } = await addWebhook(acme(), GOOD);
    const off = await command(id, '/disable', { reason: 'Moving to a new host.' });
    expect(off).toMatchObject({ enabled: false, disabled: { cause: 'admin', reason: 'Moving to a new host.' } });
    expect(Date.parse(off.disabled?.since ?? '')).toBeLessThanOrEqual(Date.now());
    const head = await run.service.logHead();
    expect(await command(id, '/disable')).toEqual(off);
    expect(await run.service.logHead()).toBe(head);
    expect(await command(id, '/enable')).toMatchObject({ enabled: true, disabled: null });
    const enabled = await run.service.logHead();
    expect(await command(id, '/enable')).toMatchObject({ enabled: true });
    expect(await run.service.logHead()).toBe(enabled);
  });
});

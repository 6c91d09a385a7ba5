/** An approval with a key is made once, wherever the process dies and whoever sends it again. */
import { openApplication } from '#app/commands/application.js';
import type { Commands } from '#app/commands/context.js';
import { approveOrderOnce } from '#app/commands/orders/lifecycle.js';
import { createRecord } from '#app/commands/records.js';
import { toAppend } from '#app/commands/writeStream.js';
import type { User } from '#app/domain/identity/events.js';
import { standardTables } from '#app/domain/identity/tenantTables.js';
import type { OrderEvent } from '#app/domain/order/events.js';
import { orderStream } from '#app/domain/streams.js';
import { metadata } from '../../contract/eventStoreFixtures.js';
import { LogInMemory } from './logInMemory.js';

const assetTypes = standardTables('dyn_stock_order');
const orders = assetTypes.get('dyn_stock_order');
if (orders === undefined) throw new Error('There is no dyn_stock_order.');
const ORDERS = orders;
const { tenant, actor, correlationId, causationId } = metadata;
const caller = { tenant, actor, correlationId, causationId };
const USER = { id: 7, firstName: 'Vera', lastName: 'Bos', locale: 'nl', email: 'vera@example.com' } as unknown as User;
const BODY = { override: true, reason: 'No customer yet.' };

async function openLog() {
  const log = new LogInMemory();
  const commands = {
    ...log.commands(),
    directory: { tenant: () => ({ name: tenant, orderModel: ORDERS.name, assetTypes, webhooks: new Map() }) },
    readModels: { find: async () => [] },
  } as unknown as Commands;
  const { id } = await createRecord(openApplication(commands), caller, ORDERS, { processing_status: 'validated' });
  const stream = orderStream(tenant, id);
  const happened = async (...events: readonly OrderEvent[]) => {
    const { revision = -1 } = log.stream(stream).at(-1) ?? {};
    await commands.eventStore.append(stream, toAppend(commands, caller, commands.now(), events), revision);
  };
  return {
    /** As a request to the service that is its own process. */
    send: (reason = BODY.reason, key = 'k') =>
      approveOrderOnce(openApplication(commands), caller, id, USER, reason, { key, body: { ...BODY, reason } }),
    happened,
    beforeApproval: (work: () => Promise<unknown>) => log.beforeAppend(stream, work),
    dieAt: (at: number, stored: boolean) => log.dieAtAppend(at, stored),
    approvals: () => log.stream(stream).filter(({ type }) => type === 'OrderApproved').length,
  };
}

test.each([1, 2, 3].flatMap((at) => [false, true].map((stored) => ({ at, stored }))))(
  'dying at append $at (stored: $stored): sent again there is one approval, and its answer stays',
  async ({ at, stored }) => {
    const log = await openLog();
    log.dieAt(at, stored);
    await log.send().catch(() => undefined);
    const again = await log.send();
    expect(again).toMatchObject({ record: { processing_status: 'submitted' }, repeats: [] });
    expect((await log.send()).record).toEqual(again.record);
    expect(log.approvals()).toBe(1);
  },
);

test('another body is refused, also where the first was never answered', async () => {
  const log = await openLog();
  log.dieAt(2, false);
  await expect(log.send()).rejects.toThrow('died');
  const refused = expect.objectContaining({ errors: { 'Idempotency-Key': [expect.any(String)] } });
  await expect(log.send('Another reason.')).rejects.toThrow(refused);
  expect(log.approvals()).toBe(0);
});

const FAILED: OrderEvent = {
  type: 'OrderExportFailed',
  data: { status: { from: 'submitted', to: 'failed' }, reasons: ['no'], webhookId: 'w', deliveryId: 'd' },
};

test('an approval that another request has made before is not taken for this one’s', async () => {
  const log = await openLog();
  await log.send(BODY.reason, 'first');
  await log.happened(FAILED);
  log.dieAt(2, false);
  await expect(log.send()).rejects.toThrow('died');
  expect(await log.send()).not.toHaveProperty('isReplayed', true);
  expect(log.approvals()).toBe(2);
});

test('its own is found however much has happened to the order', async () => {
  const log = await openLog();
  const changed: OrderEvent = {
    type: 'OrderChanged',
    data: { status: { from: 'validated', to: 'validated' }, changes: {} },
  };
  await log.happened(...Array<OrderEvent>(250).fill(changed));
  log.dieAt(2, true);
  await expect(log.send()).rejects.toThrow('died');
  expect(await log.send()).toMatchObject({ record: { processing_status: 'submitted' }, isReplayed: true });
  expect(log.approvals()).toBe(1);
});

test('sent to two processes at once it is one approval, and both have its answer', async () => {
  const log = await openLog();
  let other: unknown;
  log.beforeApproval(async () => {
    other = await log.send();
  });
  const one = await log.send();
  expect(other).toMatchObject({ record: one.record });
  expect(log.approvals()).toBe(1);
});

test('one that is refused, and was not made by another, is refused', async () => {
  const log = await openLog();
  await log.send(BODY.reason, 'first');
  await expect(log.send()).rejects.toMatchObject({ name: 'ConflictError' });
  expect(log.approvals()).toBe(1);
});

/** An approval with a key is made once, wherever the process dies and whoever sends it again. */
import type { Commands } from '#app/commands/context.js';
import { approveOrderOnce } from '#app/commands/orders/approveOnce.js';
import { createRecord } from '#app/commands/records.js';
import type { User } from '#app/domain/identity/events.js';
import { standardTables } from '#app/domain/identity/tenantTables.js';
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
  const { id } = await createRecord(commands, caller, ORDERS, { processing_status: 'validated' });
  return {
    send: (reason = BODY.reason) =>
      approveOrderOnce(commands, caller, id, USER, reason, { key: 'k', body: { ...BODY, reason } }),
    dieAt: (at: number, stored: boolean) => log.dieAtAppend(at, stored),
    approvals: () => log.stream(`order-${tenant}.${id}`).filter(({ type }) => type === 'OrderApproved').length,
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

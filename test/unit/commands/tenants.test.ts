/** What a tenant is called. */
import type { Commands } from '#app/commands/context.js';
import { createTenant } from '#app/commands/identity/tenants.js';
import { metadata } from '../../contract/eventStoreFixtures.js';
import { LogInMemory } from './logInMemory.js';

const { actor, correlationId, causationId } = metadata;

test.each(['', 'Acme', '-a', 'a-', 'a--b', 'a.b', 'a_b', 'a'.repeat(41)])(
  '%j is no name of a tenant',
  async (tenant) => {
    const commands = new LogInMemory().commands() as unknown as Commands;
    const caller = { tenant, actor, correlationId, causationId };
    const work = createTenant(commands, caller, { orderModel: 'dyn_stock_order' });
    await expect(work).rejects.toMatchObject({ errors: { name: [expect.any(String)] } });
  },
);

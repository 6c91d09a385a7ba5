/** A tenant that is deleted while another process still writes to it. */
import { TryAgainError } from '#app/commands/context.js';
import { deleteTenant } from '#app/commands/identity/tenants.js';
import { createRecord } from '#app/commands/records.js';
import { type Inside, openInside, openTenant } from './harness.js';

let inside: Inside;
beforeEach(async () => {
  inside = await openInside();
  for (const name of ['acme', 'other']) {
    await openTenant(inside, name);
    await createRecord(inside.commands, inside.caller(name), inside.assetType(name, 'dyn_item'), {
      external_id: 'A1',
      name: 'Tea',
    });
  }
  await inside.caughtUp();
});
afterEach(() => inside.close());

const ALL = { filters: [], sort: [], offset: 0, limit: 25 };
const item = (tenant: string) => ({ tenant, table: 'dyn_item' });
it('what a process wrote that had not heard of it changes nothing', async () => {
  const { commands, caller } = inside;
  const type = inside.assetType('acme', 'dyn_item');
  const known = commands.directory.tenant('acme');
  await deleteTenant(commands, caller('acme'));
  const directory = {
    tenant: () => known,
    known: () => undefined,
    tenants: () => commands.directory.tenants(),
    parkedReason: () => undefined,
    wasDeleted: () => false,
    waitFor: (position: number) => commands.directory.waitFor(position),
  };
  // The projector may have removed the table already: then there is no revision of it that the log takes.
  await createRecord({ ...commands, directory }, caller('acme'), type, { external_id: 'A2', name: 'Late' }).catch(
    (error: unknown) => expect(error).toBeInstanceOf(TryAgainError),
  );
  await inside.caughtUp();
  expect(commands.directory.wasDeleted('acme')).toBe(true);
  expect([...commands.directory.tenants()].map(({ name }) => name)).toEqual(['other']);
  expect(await inside.readModels.list(item('other'), ALL)).toMatchObject({ total: 1 });
});

/** Several processes on one log: rules hold for all writers together. Each `Inside` here stands for a process. */
import { ValidationError } from '#app/commands/context.js';
import { addUser } from '#app/commands/identity/users.js';
import { createRecord } from '#app/commands/records.js';
import { upsertBatch } from '#app/commands/referenceTables/batches.js';
import { type Inside, openInside, openTenant } from '../projections/harness.js';

let one: Inside;
let two: Inside;
beforeAll(async () => {
  one = await openInside();
  await openTenant(one, 'acme');
  two = await openInside(one);
});
afterAll(async () => {
  await two.close();
  await one.close();
});

const on = (inside: Inside, table: string) => {
  return { commands: inside.commands, caller: inside.caller('acme'), assetType: inside.assetType('acme', table) };
};
const create = (inside: Inside, table: string, body: object) => createRecord(on(inside, table), body);

it('a unique key is given once, also by batches', async () => {
  const created = await Promise.allSettled(
    [one, two, one, two].map((inside) => create(inside, 'dyn_party', { external_id: 'p0', name: 'Party' })),
  );
  const refused = created.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  expect(refused).toHaveLength(3);
  for (const error of refused) expect(error).toMatchObject({ name: ValidationError.name, errors: { external_id: {} } });
  const batch = (inside: Inside, _batch_id: string) => {
    const items = Array.from({ length: 50 }, (_, n) => ({ external_id: `p${n}`, name: _batch_id, _batch_id }));
    return upsertBatch(on(inside, 'dyn_party'), { items });
  };
  const batches = await Promise.all([batch(one, 'a'), batch(two, 'b'), batch(one, 'c'), batch(two, 'd')]);
  expect(batches.reduce((sum, { counts }) => sum + counts.created, 0)).toBe(49);
});

it('an e-mail address belongs to one user, and ids are counted up without gaps', async () => {
  const names = { password: 'a long password', first_name: 'A', last_name: 'B', roles: ['auditor'] };
  const add = (inside: Inside, email: string) =>
    addUser(inside.commands, inside.caller('acme'), { email: `${email}@b.example`, ...names });
  const added = await Promise.allSettled([add(one, 'a'), add(two, 'a'), add(one, 'c'), add(two, 'd')]);
  expect(added.map(({ status }) => status).sort()).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected']);
  const { directory, eventStore } = one.commands;
  await directory.waitFor(await eventStore.head());
  expect([...(directory.tenant('acme')?.users.keys() ?? [])]).toEqual([1, 2, 3]);
});

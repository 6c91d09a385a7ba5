import { FollowedTenant } from '#app/projections/followedTenant.js';
import { Turns } from '#app/projections/followedTenants.js';

test('a tenant that is woken during its turn has another one: the first may have looked too early', async () => {
  const tenant = new FollowedTenant('acme', { position: 0 });
  const stopping = new AbortController();
  let turnsTaken = 0;
  const turns = new Turns(
    async () => {
      turnsTaken += 1;
      if (turnsTaken === 1) turns.wake(tenant);
      else stopping.abort();
    },
    () => undefined,
  );
  turns.wake(tenant);
  await turns.run(stopping.signal);
  expect(turnsTaken).toBe(2);
});

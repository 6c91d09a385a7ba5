/** Tenants, their users and API clients: given events, when a command, then events, or a refusal that appends nothing. */
import { TryAgainError } from '#app/commands/context.js';
import {
  createClient,
  promoteClientSecret,
  regenerateClientSecret,
  removeClient,
  stageClientSecret,
  unstageClientSecret,
} from '#app/commands/identity/clients.js';
import { hashSecret, passwordMatches } from '#app/commands/identity/secrets.js';
import { endSession } from '#app/commands/identity/sessions.js';
import {
  changeCleanUpGuard,
  changeRateLimit,
  createTenant,
  deleteTenant,
  removeRateLimit,
} from '#app/commands/identity/tenants.js';
import { addUser, changeOwnPassword, changeUser } from '#app/commands/identity/users.js';
import type { DirectoryEvent, User } from '#app/domain/identity/events.js';
import type { Role } from '#app/domain/identity/scopes.js';
import { MAX_CLIENTS, MAX_USERS } from '#app/domain/limits.js';
import {
  CLIENTS,
  CONFLICT,
  caller,
  created,
  given,
  invalid,
  NOT_FOUND,
  TENANT,
  tenant,
  USERS,
} from './directoryLog.js';

const user = (id: number, roles: readonly Role[], more: Partial<User> = {}): DirectoryEvent => ({
  type: 'UserAdded',
  data: {
    id,
    email: `${id}@acme.example`,
    firstName: 'Eva',
    lastName: 'Smit',
    locale: 'nl',
    roles,
    passwordHash: 'scrypt$a$b',
    ...more,
  },
});
const client = (clientId: string): DirectoryEvent => ({
  type: 'ApiClientCreated',
  data: { clientId, name: 'ERP', scopes: ['read:order_data'], secretHash: 'h' },
});

describe('tenants', () => {
  const model = { orderModel: 'dyn_transport_order' };

  test('one is made, without a guard on its clean-ups, and known when the command is answered', async () => {
    const { commands, appended, known, log } = await given({ [TENANT]: [] });
    await createTenant(commands, caller, model);
    expect(appended(TENANT)).toEqual([
      { type: 'TenantCreated', data: { name: tenant, displayName: tenant, ...model } },
    ]);
    expect(known).toEqual([log.position]);
  });

  test.each(['', 'Acme', '-a', 'a-', 'a--b', 'a.b', 'a_b', 'a'.repeat(41)])('%j is no name', async (name) => {
    const { commands, refused } = await given({ [TENANT]: [] });
    await refused(createTenant(commands, { ...caller, tenant: name }, model), invalid('name'));
  });

  test('a name is given once, also where its tenant was deleted', async () => {
    const there = await given();
    await there.refused(createTenant(there.commands, caller, model), CONFLICT);
    const deleted = await given({ [TENANT]: [created, { type: 'TenantDeleted', data: { name: tenant } }] });
    for (const work of [createTenant(deleted.commands, caller, model), deleteTenant(deleted.commands, caller)]) {
      await deleted.refused(work, { ...NOT_FOUND, message: expect.stringContaining('was deleted') });
    }
    await deleted.refused(createClient(deleted.commands, caller, { name: 'ERP' }), NOT_FOUND);
  });

  test('its rate limit and the guard of its clean-ups are changed, and taken away', async () => {
    const { commands, appended } = await given();
    await changeRateLimit(commands, caller, { perSecond: 5, burst: 6 });
    await removeRateLimit(commands, caller);
    // There is none any more: nothing is written, however often it is asked for.
    expect((await removeRateLimit(commands, caller)).position).toBe(0);
    await changeCleanUpGuard(commands, caller, { maxPercent: 20, minRecords: 7 });
    await changeCleanUpGuard(commands, caller, undefined);
    expect(appended(TENANT)).toEqual([
      { type: 'RateLimitChanged', data: { perSecond: 5, burst: 6 } },
      { type: 'RateLimitRemoved', data: {} },
      { type: 'CleanUpGuardChanged', data: { maxPercent: 20, minRecords: 7 } },
      { type: 'CleanUpGuardChanged', data: { maxPercent: null } },
    ]);
  });

  test('one with an event that cannot be applied is left as it is, but for its end', async () => {
    const broken = { type: 'CleanUpGuardChanged', data: { maxPercent: 'half' } } as unknown as DirectoryEvent;
    const { commands, refused, appended } = await given({ [TENANT]: [created, broken] });
    const parked = { name: TryAgainError.name, message: expect.stringContaining('is parked') };
    await refused(changeRateLimit(commands, caller, { perSecond: 1, burst: 1 }), parked);
    await refused(createClient(commands, caller, { name: 'ERP' }), parked);
    await deleteTenant(commands, caller);
    expect(appended(TENANT)).toEqual([{ type: 'TenantDeleted', data: { name: tenant } }]);
    const deleted = { ...NOT_FOUND, message: expect.stringContaining('was deleted') };
    await expect(createTenant(commands, caller, model)).rejects.toMatchObject(deleted);
  });
});

const NOOR = { email: 'Noor@Acme.Example', first_name: 'Noor', last_name: 'Smit', roles: ['validator'] };

describe('users', () => {
  const admin = user(1, ['admin']);

  test('one is added with the next id, an address in lower case, and a password for the first sign-in', async () => {
    const removed: DirectoryEvent = { type: 'UserRemoved', data: { id: 2 } };
    const { commands, appended } = await given({ [USERS]: [admin, user(2, ['auditor']), removed] });
    const added = await addUser(commands, caller, NOOR);
    expect(added).toMatchObject({ id: 3, password: expect.any(String) });
    expect(appended(USERS)).toMatchObject([
      { type: 'UserAdded', data: { id: 3, email: 'noor@acme.example', locale: 'en', mustChangePassword: true } },
    ]);
    expect(JSON.stringify(appended(USERS))).not.toContain(added.password);
  });

  test('a password that is given is nobody’s to be told, and stays', async () => {
    const { commands, appended } = await given({ [USERS]: [admin] });
    const body = { ...NOOR, password: 'correct horse battery' };
    expect(await addUser(commands, caller, body)).not.toHaveProperty('password');
    const [noor] = appended(USERS).map(({ data }) => data);
    expect(noor).not.toHaveProperty('mustChangePassword');
    expect(await passwordMatches(tenant, body.password, Object(noor).passwordHash)).toBe(true);
  });

  test('there are so many at most', async () => {
    const users = Array.from({ length: MAX_USERS - 1 }, (_, index) => user(index + 1, ['admin']));
    const { commands, appended } = await given({ [USERS]: users });
    expect(await addUser(commands, caller, NOOR)).toMatchObject({ id: MAX_USERS });
    const another = addUser(commands, caller, { ...NOOR, email: 'tom@acme.example' });
    await expect(another).rejects.toMatchObject(CONFLICT);
    expect(appended(USERS)).toHaveLength(1);
  });

  const told: Partial<User> = { mustChangePassword: true };
  test.each<[string, DirectoryEvent, object, object | undefined]>([
    ['what is named', admin, { first_name: 'Ann', locale: 'nl_NL' }, { id: 1, firstName: 'Ann', locale: 'nl_NL' }],
    [
      'the rest of what is named',
      admin,
      { last_name: 'Bos', roles: ['admin'] },
      { id: 1, lastName: 'Bos', roles: ['admin'] },
    ],
    ['nothing where nothing is named', admin, {}, undefined],
    ['whether the password is to be changed', admin, { must_change_password: true }, { id: 1, ...told }],
    ['nothing where that is so', user(1, ['admin'], told), { must_change_password: true }, undefined],
    [
      'not that the password is to be changed, where it is another thing',
      user(1, ['admin'], told),
      { last_name: 'Bos' },
      { id: 1, lastName: 'Bos' },
    ],
    [
      'the password, which then is not to be changed',
      user(1, ['admin'], told),
      { password: 'correct horse battery' },
      { id: 1, passwordHash: expect.stringContaining('scrypt$'), mustChangePassword: false },
    ],
  ])('a change is %s', async (_what, before, body, data) => {
    const { commands, appended } = await given({ [USERS]: [before] });
    await changeUser(commands, caller, 1, body);
    expect(appended(USERS)).toEqual(data === undefined ? [] : [{ type: 'UserChanged', data }]);
  });

  test('an own password is changed for another one, unless somebody else was first', async () => {
    const { commands, appended, refused } = await given({ [USERS]: [user(1, ['admin'], told)] });
    const known = { id: 1, passwordHash: 'scrypt$a$b' } as User;
    const [old, chosen] = ['the old one, ﬁne', 'correct horse battery'];
    const to = (password: string) => ({ old_password: old, new_password: password });
    await refused(changeOwnPassword(commands, caller, known, to('the old one, fine')), invalid('new_password'));
    await refused(changeOwnPassword(commands, caller, { ...known, passwordHash: 'scrypt$x$y' }, to(chosen)), CONFLICT);
    await changeOwnPassword(commands, caller, known, to(chosen));
    const passwordHash = expect.stringMatching(/^scrypt\$/);
    expect(appended(USERS)).toEqual([
      { type: 'UserChanged', data: { id: 1, passwordHash, mustChangePassword: false } },
    ]);
  });

  test('a session is ended once', async () => {
    const { commands, log, known } = await given();
    const session = { sessionId: 's', userId: 1, expiresAt: 1_800_000_000 };
    for (let times = 0; times < 2; times += 1) await endSession(commands, caller, session);
    const ended = { userId: 1, sessionId: 's', expiresAt: '2027-01-15T08:00:00.000000Z' };
    expect(log.stream(`session-${tenant}.s`)).toMatchObject([{ type: 'SessionEnded', data: ended }]);
    expect(known).toEqual([log.position]);
  });
});

describe('API clients', () => {
  const staged: DirectoryEvent = { type: 'ApiClientSecretStaged', data: { clientId: 'c', secretHash: 's' } };

  test('one is made with all scopes, or each that is named once; the log has a hash of its secret', async () => {
    const { commands, appended } = await given();
    const { clientSecret, clientId } = await createClient(commands, caller, { name: 'ERP' });
    const scopes = ['write:order_data', 'read:reference_data', 'write:order_data'];
    await createClient(commands, caller, { name: 'WMS', scopes });
    const [erp, wms] = appended(CLIENTS).map(({ data }) => data);
    const all = ['read:reference_data', 'write:reference_data', 'read:order_data', 'write:order_data'];
    expect(erp).toEqual({ clientId, name: 'ERP', scopes: all, secretHash: hashSecret(clientSecret) });
    expect(wms).toMatchObject({ scopes: ['read:reference_data', 'write:order_data'] });
    expect(JSON.stringify(erp)).not.toContain(clientSecret);
  });

  test.each([
    [MAX_CLIENTS - 1, 1],
    [MAX_CLIENTS, 0],
  ])('where there are %i, so many more are made: %i', async (count, more) => {
    const clients = Array.from({ length: count }, (_, index) => client(String(index)));
    const { commands, appended } = await given({ [CLIENTS]: clients });
    const made = createClient(commands, caller, { name: 'ERP' });
    await (more === 1 ? made : expect(made).rejects.toMatchObject(CONFLICT));
    expect(appended(CLIENTS)).toHaveLength(more);
  });

  test('one rotation is under way at a time, and only one that is can end', async () => {
    const without = await given({ [CLIENTS]: [client('c')] });
    await without.refused(promoteClientSecret(without.commands, caller, 'c'), CONFLICT);
    await without.refused(unstageClientSecret(without.commands, caller, 'c'), CONFLICT);
    const { clientSecret } = await stageClientSecret(without.commands, caller, 'c');
    const data = { clientId: 'c', secretHash: hashSecret(clientSecret) };
    expect(without.appended(CLIENTS)).toEqual([{ type: 'ApiClientSecretStaged', data }]);
    const within = await given({ [CLIENTS]: [client('c'), staged] });
    await within.refused(stageClientSecret(within.commands, caller, 'c'), CONFLICT);
    await promoteClientSecret(within.commands, caller, 'c');
    await expect(unstageClientSecret(within.commands, caller, 'c')).rejects.toMatchObject(CONFLICT);
    expect(within.appended(CLIENTS)).toEqual([{ type: 'ApiClientSecretPromoted', data: { clientId: 'c' } }]);
  });

  const commandsOfOne = [
    regenerateClientSecret,
    stageClientSecret,
    promoteClientSecret,
    unstageClientSecret,
    removeClient,
  ];
  test.each(commandsOfOne.map((command) => ({ name: command.name, command })))(
    'one that is not there, or no more: $name',
    async ({ command }) => {
      const removed: DirectoryEvent = { type: 'ApiClientRemoved', data: { clientId: 'c' } };
      const { commands, refused } = await given({ [CLIENTS]: [client('c'), staged, removed] });
      for (const id of ['c', 'unknown']) await refused(command(commands, caller, id), NOT_FOUND);
    },
  );
});

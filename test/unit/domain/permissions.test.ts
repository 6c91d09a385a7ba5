/** Scopes and roles become permissions in one table. */
import {
  AUDIT_SCOPE,
  DATA_SCOPES,
  isOfPeople,
  permissionsOfRoles,
  permissionsOfScopes,
  ROLES,
} from '#app/domain/identity/scopes.js';

test('a token has the permissions that it names, and none of people', () => {
  expect(permissionsOfScopes(['write:order_data'])).toEqual(new Set(['clients', 'write:order_data']));
  expect([...permissionsOfScopes(DATA_SCOPES)].filter(isOfPeople)).toEqual([]);
});

test('a token that audits reads all tables, and has what an auditor has', () => {
  const audits = permissionsOfScopes([AUDIT_SCOPE]);
  expect([...audits].filter((permission) => permission.startsWith('write:'))).toEqual([]);
  expect(audits).toEqual(
    new Set([
      'clients',
      AUDIT_SCOPE,
      ...DATA_SCOPES.filter((scope) => scope.startsWith('read:')),
      ...permissionsOfRoles(['auditor']),
    ]),
  );
});

test('each role has what all users have, and only an admin what admins have', () => {
  expect(ROLES.filter((role) => permissionsOfRoles([role]).has('users'))).toEqual(ROLES);
  expect(ROLES.filter((role) => permissionsOfRoles([role]).has('admins'))).toEqual(['admin']);
});

/** Scopes of tokens (spec §5), roles of users, and the permissions that both give. */

/** A client has them by default. */
export const DATA_SCOPES = [
  'read:reference_data',
  'write:reference_data',
  'read:order_data',
  'write:order_data',
] as const;
/** Reads everything of the tenant, as the role `auditor` does, and changes nothing. */
export const AUDIT_SCOPE = 'read:audit';
export const SCOPES = [...DATA_SCOPES, AUDIT_SCOPE] as const;
export type Scope = (typeof SCOPES)[number];

/** The scope that reading or writing a table needs. */
export const scopeFor = (access: 'read' | 'write', supportingData: boolean): Scope =>
  `${access}:${supportingData ? 'reference_data' : 'order_data'}`;

/** admin: settings. validator: saves, approves and rejects orders. auditor: reads everything, changes nothing. */
export const ROLES = ['admin', 'validator', 'auditor'] as const;
export type Role = (typeof ROLES)[number];

/** Permissions of people, each with the roles that have it. */
export const ROLES_WITH = {
  users: ['admin', 'validator', 'auditor'],
  validators: ['admin', 'validator'],
  admins: ['admin'],
  adminsAndAuditors: ['admin', 'auditor'],
} as const satisfies { readonly [permission: string]: readonly Role[] };
export type PermissionOfPeople = keyof typeof ROLES_WITH;

/** What an operation may need of its caller. `clients`: any API client of the tenant. */
export type Permission = Scope | 'clients' | PermissionOfPeople | 'operators';

const OF_PEOPLE = Object.keys(ROLES_WITH).filter(isOfPeople);

export function isOfPeople(permission: string): permission is PermissionOfPeople {
  return Object.hasOwn(ROLES_WITH, permission);
}

const permissionsOfRole = (role: Role): readonly PermissionOfPeople[] =>
  OF_PEOPLE.filter((permission) => (ROLES_WITH[permission] as readonly Role[]).includes(role));

export const permissionsOfRoles = (roles: readonly Role[]): ReadonlySet<Permission> =>
  new Set(roles.flatMap(permissionsOfRole));

/** Permissions of a token: one that audits reads what an auditor does. */
export const permissionsOfScopes = (scopes: readonly Scope[]): ReadonlySet<Permission> =>
  new Set([
    'clients' as const,
    ...scopes,
    ...(scopes.includes(AUDIT_SCOPE)
      ? [...SCOPES.filter((scope) => scope.startsWith('read:')), ...permissionsOfRole('auditor')]
      : []),
  ]);

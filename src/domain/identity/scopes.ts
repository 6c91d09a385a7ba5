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

/**
 * The roles of people, each with its permissions. admin: settings. validator: saves, approves and rejects orders. auditor: reads
 * everything, changes nothing.
 */
const PERMISSIONS_OF = {
  admin: ['users', 'validators', 'admins', 'adminsAndAuditors'],
  validator: ['users', 'validators'],
  auditor: ['users', 'adminsAndAuditors'],
} as const;
export type Role = keyof typeof PERMISSIONS_OF;
export type PermissionOfPeople = (typeof PERMISSIONS_OF)[Role][number];
const isRole = (name: string): name is Role => Object.hasOwn(PERMISSIONS_OF, name);
export const ROLES: readonly Role[] = Object.keys(PERMISSIONS_OF).filter(isRole);

/** What an operation may need of its caller. `clients`: any API client of the tenant. */
export type Permission = Scope | 'clients' | PermissionOfPeople | 'operators';

export const rolesWith = (permission: string): readonly Role[] =>
  ROLES.filter((role) => PERMISSIONS_OF[role].some((each) => each === permission));

export const isOfPeople = (permission: string): permission is PermissionOfPeople => rolesWith(permission).length > 0;

export const permissionsOfRoles = (roles: readonly Role[]): ReadonlySet<Permission> =>
  new Set(roles.flatMap((role) => PERMISSIONS_OF[role]));

/** Permissions of a token: one that audits reads what an auditor does. */
export const permissionsOfScopes = (scopes: readonly Scope[]): ReadonlySet<Permission> =>
  new Set([
    'clients' as const,
    ...scopes,
    ...(scopes.includes(AUDIT_SCOPE)
      ? [...SCOPES.filter((scope) => scope.startsWith('read:')), ...PERMISSIONS_OF.auditor]
      : []),
  ]);

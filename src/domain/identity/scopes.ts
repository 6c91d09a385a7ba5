/** Scopes of tokens (spec §5), and roles of users. */

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

export const isScope = (text: string): text is Scope => (SCOPES as readonly string[]).includes(text);

/** The scope that reading or writing a table needs. */
export const scopeFor = (access: 'read' | 'write', supportingData: boolean): Scope =>
  `${access}:${supportingData ? 'reference_data' : 'order_data'}`;

/** Whether a token with these scopes may do what needs this one: an auditor reads everything. */
export const grants = (scopes: ReadonlySet<string>, scope: Scope): boolean =>
  scopes.has(scope) || (scope.startsWith('read:') && scopes.has(AUDIT_SCOPE));

/** admin: settings. validator: saves, approves and rejects orders. auditor: reads everything, changes nothing. */
export const ROLES = ['admin', 'validator', 'auditor'] as const;
export type Role = (typeof ROLES)[number];

/** Scopes of tokens (spec §5), and roles of users. */

export const SCOPES = ['read:reference_data', 'write:reference_data', 'read:order_data', 'write:order_data'] as const;
export type Scope = (typeof SCOPES)[number];

export const isScope = (text: string): text is Scope => (SCOPES as readonly string[]).includes(text);

/** The scope that reading or writing a table needs. */
export const scopeFor = (access: 'read' | 'write', supportingData: boolean): Scope =>
  `${access}:${supportingData ? 'reference_data' : 'order_data'}`;

/** admin: settings. validator: saves, approves and rejects orders. auditor: reads everything, changes nothing. */
export const ROLES = ['admin', 'validator', 'auditor'] as const;
export type Role = (typeof ROLES)[number];

/** What a process does; one does everything unless told otherwise. */
export const ROLES = ['api', 'projector', 'webhooks'] as const;
export type Role = (typeof ROLES)[number];

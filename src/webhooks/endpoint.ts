/** A webhook of a tenant, as what is kept in memory about it is named. */

export type Endpoint = { readonly tenant: string; readonly webhookId: string };

/** Tenant names have no dot. */
export const endpointKey = ({ tenant, webhookId }: Endpoint): string => `${tenant}.${webhookId}`;

/** Names of streams. The part before the first `-` is the category. */

/** Its first event is the id of the log. */
export const LOG_STREAM = 'log-identity';
export const SIGNING_KEYS_STREAM = 'log-keys';
/** What the log no longer shows. */
export const ERASURES_STREAM = 'log-erasures';
/** One stream for each link to the operator's console, so that it opens one session. */
export const operatorLinkStream = (linkId: string): string => `log-operator.${linkId}`;

export const tenantStream = (tenant: string): string => `tenant-${tenant}`;
export const usersStream = (tenant: string): string => `users-${tenant}`;
export const clientsStream = (tenant: string): string => `clients-${tenant}`;
/** One stream for each API client, so that noting its use reads nothing of the others. */
export const clientUseStream = (tenant: string, clientId: string): string => `client-${tenant}.${clientId}`;
export const webhooksStream = (tenant: string): string => `webhooks-${tenant}`;
/** What was refused to people. */
export const accessStream = (tenant: string): string => `access-${tenant}`;
/** One stream for each session. */
export const sessionStream = (tenant: string, sessionId: string): string => `session-${tenant}.${sessionId}`;
export const tableStream = (tenant: string, table: string): string => `table-${tenant}.${table}`;
export const syncStream = (tenant: string, table: string): string => `sync-${tenant}.${table}`;
export const orderStream = (tenant: string, orderId: string): string => `order-${tenant}.${orderId}`;
export const deliveryStream = (tenant: string, deliveryId: string): string => `delivery-${tenant}.${deliveryId}`;

export const STREAM_PREFIXES = {
  table: 'table-',
  sync: 'sync-',
  order: 'order-',
  delivery: 'delivery-',
  access: 'access-',
} as const;

type StreamName = { readonly category: string; readonly tenant: string; readonly rest: string };

/** Splits `order-acme.<id>`. Tenant names have no dot. */
export function parseStream(stream: string): StreamName {
  const dash = stream.indexOf('-');
  const dot = stream.indexOf('.', dash);
  return {
    category: stream.slice(0, dash),
    tenant: dot < 0 ? stream.slice(dash + 1) : stream.slice(dash + 1, dot),
    rest: dot < 0 ? '' : stream.slice(dot + 1),
  };
}

/** Streams of which no row is made: ids that are taken, and what is of no tenant. */
const WITHOUT_ROWS: readonly string[] = ['part', 'log'];

type Recorded = { readonly stream: string; readonly type: string; readonly data: unknown };

/** Which tenant's rows an event may change; undefined: no tenant's. */
export function tenantOf({ stream, type, data }: Recorded): string | undefined {
  if (type === 'ErasureRecorded' && stream === ERASURES_STREAM) return (data as { readonly tenant: string }).tenant;
  const { category, tenant } = parseStream(stream);
  return WITHOUT_ROWS.includes(category) ? undefined : tenant;
}

/** Whether events of the stream may change rows of these tenants. */
export function concerns(stream: string, tenants: ReadonlySet<string>): boolean {
  const { category, tenant } = parseStream(stream);
  return stream === ERASURES_STREAM || (!WITHOUT_ROWS.includes(category) && tenants.has(tenant));
}

/** What people of the tenant may see as it is stored. Events of users, API clients and webhooks hold secrets. */
const SHOWN_CATEGORIES: readonly string[] = ['tenant', 'table', 'sync', 'order', 'part', 'delivery'];

/** Whether an auditor of the tenant may see the stream's events to the byte, as a proof has them. */
export const isProvable = (stream: string): boolean => SHOWN_CATEGORIES.includes(parseStream(stream).category);

/** Tenant names are host labels (RFC 1123), at most 40 characters. */
export const TENANT_NAME = /^(?=.{1,40}$)[a-z0-9](-?[a-z0-9])*$/;

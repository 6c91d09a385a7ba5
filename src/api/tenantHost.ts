/** Which tenant a request is for: the first label of its host (decisions, "Tenants"). */
import { isIP } from 'node:net';
import type { Request } from 'express';
import type { ApiConfig } from './deps.js';
import { notFound } from './errors.js';
import type { Check } from './routes/operation.js';

/** The host without its port, in lower case; an IPv6 address without its brackets. */
function hostName(host: string): string {
  const bracket = host.indexOf(']');
  if (host.startsWith('[') && bracket > 0) return host.slice(1, bracket).toLowerCase();
  const colon = host.indexOf(':');
  return (colon < 0 ? host : host.slice(0, colon)).toLowerCase();
}

/** The tenant's name that a host stands for; undefined when it stands for none. The tenant need not exist. */
export function tenantNameOf(host: string, config: Pick<ApiConfig, 'baseHost' | 'defaultTenant'>): string | undefined {
  const name = hostName(host);
  const { baseHost, defaultTenant } = config;
  if (name.length > baseHost.length + 1 && name.endsWith(baseHost) && name.at(-baseHost.length - 1) === '.') {
    const label = name.slice(0, -baseHost.length - 1);
    return label.includes('.') ? undefined : label;
  }
  // A host without a dot is a machine's own name, such as `localhost` or a container's.
  const bare = name === baseHost || !name.includes('.') || isIP(name) !== 0;
  return bare ? defaultTenant : undefined;
}

/** Host as the client used it, with its port; X-Forwarded-Host only behind a trusted proxy. */
export const requestHost = (req: Request, config: Pick<ApiConfig, 'trustProxy'>): string =>
  (config.trustProxy > 0 ? req.host : req.headers.host) ?? '';

/** Scheme and host as the client used them, without a trailing slash. */
export const requestOrigin = (req: Request, config: Pick<ApiConfig, 'trustProxy'>): string =>
  `${req.protocol}://${requestHost(req, config)}`;

/** The request's URL without its query, as the client used it. */
export const requestUrl = (req: Request, config: Pick<ApiConfig, 'trustProxy'>): string =>
  `${requestOrigin(req, config)}${req.baseUrl}${req.path}`;

/** Sets the request's tenant. @throws HttpError 404 for an unknown one */
export const resolveTenant: Check = async ({ directory, config, refresh }, req) => {
  const name = tenantNameOf(requestHost(req, config), config);
  if (name === undefined) throw unknownTenant();
  // Another process may have made the tenant a moment ago.
  if (directory.tenant(name) === undefined) await refresh();
  const tenant = directory.tenant(name);
  if (tenant === undefined) throw unknownTenant();
  req.context.tenant = tenant;
};

const unknownTenant = () => notFound('This host belongs to no tenant.');

/** Which tenant a request is for: the first label of its host (decisions, "Tenants"), or X-Tenant on this machine. */
import { isIP } from 'node:net';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';
import type { Config } from '../config.js';
import { TENANT_NAME } from '../domain/streams.js';
import { nextTurn } from '../supervision/waiting.js';
import { badRequest, notFound, nothingAt, unavailable } from './errors.js';
import type { Check } from './routes/operation.js';
import { isFromThisMachine } from './senderAddress.js';

/** Longest name (RFC 1035 §2.3.4) with a port. */
const LONGEST_HOST = 260;
/**
 * `uri-host [":" port]` (RFC 9110 §7.2, RFC 3986 §3.2), limited to host names and addresses. User information is not
 * allowed.
 */
const HOST = /^(?:\[([\da-f:.]+)\]|[\w.-]+)(?::\d{0,5})?$/i;

/** Allowed values of X-Forwarded-Proto. */
const SCHEMES: readonly string[] = ['http', 'https'];

/** Whether links can be built with this Host header. */
function isHost(host: string): boolean {
  const [, address] = (host.length <= LONGEST_HOST && HOST.exec(host)) || [undefined, ''];
  return address === undefined || isIP(address) === 6;
}

/** The host in lower case, without port, final dot (RFC 1034 §3.1), and brackets of an IPv6 address. */
function hostName(host: string): string {
  const bracket = host.indexOf(']');
  if (host.startsWith('[') && bracket > 0) return host.slice(1, bracket).toLowerCase();
  const colon = host.indexOf(':');
  return (colon < 0 ? host : host.slice(0, colon)).toLowerCase().replace(/\.$/, '');
}

/** Whether a host means this machine. Names below `localhost` do (RFC 6761 §6.3). */
export function isLoopbackHost(host: string): boolean {
  const name = hostName(host);
  if (isIP(name) !== 0) return ipaddr.process(name).range() === 'loopback';
  return name === 'localhost' || name.endsWith('.localhost');
}

/**
 * Whether the request comes from a program on this machine, not from another site's page in a browser on it. Such a
 * page can make its name resolve to 127.0.0.1 (DNS rebinding), but the browser then sends that name as Host.
 */
export function isLocalProgram(req: Request, { BASE_HOST }: Config): boolean {
  const { host = '' } = req.headers;
  const name = hostName(host);
  const isOwn = isLoopbackHost(host) || name === BASE_HOST || name.endsWith(`.${BASE_HOST}`);
  return isFromThisMachine(req) && isHost(host) && isOwn && !isFromOtherPage(req.headers, host);
}

/** Browsers say so (W3C Fetch Metadata; RFC 6454 §7), programs do not. */
function isFromOtherPage({ origin, 'sec-fetch-site': site }: Request['headers'], host: string): boolean {
  const isOwnOrigin =
    origin === undefined || /^https?:\/\/(.*)$/i.exec(origin)?.[1]?.toLowerCase() === host.toLowerCase();
  return !isOwnOrigin || (site !== undefined && site !== 'same-origin' && site !== 'none');
}

type Hosts = Pick<Config, 'BASE_HOST' | 'DEFAULT_TENANT' | 'OPERATOR_HOST'>;

/** The tenant's name in a host; undefined if it has none. The tenant may not exist. */
export function tenantNameOf(host: string, config: Hosts): string | undefined {
  if (isOperatorHost(host, config)) return undefined;
  const name = hostName(host);
  const { BASE_HOST, DEFAULT_TENANT } = config;
  if (name.length > BASE_HOST.length + 1 && name.endsWith(BASE_HOST) && name.at(-BASE_HOST.length - 1) === '.') {
    const label = name.slice(0, -BASE_HOST.length - 1);
    return label.includes('.') ? undefined : label;
  }
  // A host without a dot is a machine's own name, such as `localhost` or a container's.
  const bare = name === BASE_HOST || !name.includes('.') || isIP(name) !== 0;
  return bare ? DEFAULT_TENANT : undefined;
}

/** Whether a host is the operator's: no tenant is served there, and nothing of the operator's anywhere else. */
export const isOperatorHost = (host: string, { OPERATOR_HOST }: Hosts): boolean => hostName(host) === OPERATOR_HOST;

/** Answers elsewhere as if the operator's routes did not exist. @throws HttpError 404 */
export const atOperatorHost: Check = ({ config }, req) => {
  if (!isOperatorHost(requestHost(req, config), config)) throw nothingAt(req);
};

/** For programs that cannot resolve names below `localhost`. */
const TENANT_HEADER = 'x-tenant';

/**
 * The tenant's name in a request: by its host or, on this machine at an address without a tenant, by X-Tenant.
 * Elsewhere X-Tenant must agree with the host, since a proxy may authorize requests by their host.
 * @throws HttpError 400 if they differ
 */
function tenantNameIn(req: Request, host: string, config: Config): string | undefined {
  const ofHost = tenantNameOf(host, config);
  const given = req.headers[TENANT_HEADER];
  if (given === undefined) return ofHost;
  const named = String(given).toLowerCase();
  if (named === ofHost) return ofHost;
  const { DEFAULT_TENANT: _, ...withoutDefault } = config;
  const isBare =
    isLoopbackHost(host) && !isOperatorHost(host, config) && tenantNameOf(host, withoutDefault) === undefined;
  if (isBare && config.TRUST_PROXY === 0 && isFromThisMachine(req)) return named;
  throw badRequest(
    'X-Tenant is only for programs on the machine of the service, at http://localhost; elsewhere the host name tells the tenant.',
  );
}

/**
 * Host and port as the client used them; X-Forwarded-Host only behind a trusted proxy. @throws HttpError 400 for an
 * invalid one
 */
export function requestHost(req: Request, { TRUST_PROXY }: Config): string {
  const host = (TRUST_PROXY > 0 ? req.host : req.headers.host) ?? '';
  if (isHost(host)) return host;
  throw badRequest(
    `The ${TRUST_PROXY > 0 ? 'X-Forwarded-Host or Host' : 'Host'} header must be a host name or an IP address, with or without a port.`,
  );
}

/** Scheme and host as the client used them, without a trailing slash. */
export const requestOrigin = (req: Request, config: Config): string => `${req.protocol}://${requestHost(req, config)}`;

/** The request's URL without its query, as the client used it. */
export const requestUrl = (req: Request, config: Config): string =>
  `${requestOrigin(req, config)}${req.baseUrl}${req.path}`;

/**
 * Sets the request's tenant. @throws HttpError 404 for an unknown one, 400 for an invalid host or scheme, 503 for a
 * parked one
 */
export const resolveTenant: Check = ({ directory, config }, req) => {
  if (config.TRUST_PROXY > 0 && !SCHEMES.includes(req.protocol))
    throw badRequest('X-Forwarded-Proto must be http or https.');
  const name = tenantNameIn(req, requestHost(req, config), config);
  if (name === undefined) throw unknownTenant();
  const enter = (): Promise<void> => {
    const tenant = directory.tenant(name);
    if (tenant === undefined) throw unknownTenant();
    const parked = directory.parkedReason(name);
    if (parked !== undefined) throw unavailable(parked);
    req.context.tenant = tenant;
    // Hundreds that arrive together are refused or read one after another, and not in one turn of the event loop.
    return nextTurn(name);
  };
  // Another process may have created the tenant a moment ago, if the name is a possible one.
  if (directory.tenant(name) === undefined && TENANT_NAME.test(name)) return directory.refresh().then(enter);
  return enter();
};

const unknownTenant = () => notFound('This host belongs to no tenant.');

/** Normalizes a request's target (RFC 9112 §3.2): the path goes into `url`, the host into the Host header. */
import type { IncomingMessage } from 'node:http';
import { isHost } from './tenantHost.js';

/** Why a target is refused: status line and error. */
export type TargetRefusal = readonly [status: string, error: string];

const ABSOLUTE = /^([a-z][a-z\d+.-]*):\/\/([^/?#]*)(\/[^?#]*)?(\?[^#]*)?$/i;

/** Escapes of unreserved characters; a path means the same without them (RFC 3986 §6.2.2.2). */
const NEEDLESS_ESCAPE = /%(?:2[de]|3\d|4[1-9a-f]|5[\daf]|6[1-9a-f]|7[\dae])/gi;

/**
 * Changes `url` and `headers.host`. An absolute target overrides the Host field (RFC 9112 §3.2.2); `OPTIONS *` stays.
 * @param isBehindProxy whether a trusted proxy may terminate TLS: only then can a target be `https`
 */
export function normalizeTarget(req: IncomingMessage, isBehindProxy: boolean): TargetRefusal | undefined {
  const { url = '', method, headers } = req;
  if (url.startsWith('/')) {
    if (url.includes('%')) req.url = withoutNeedlessEscapes(url);
    return undefined;
  }
  if (url === '*' && method === 'OPTIONS') return undefined;
  const [, scheme = '', authority = '', path = '/', query = ''] = ABSOLUTE.exec(url) ?? [];
  if (!isHost(authority) || (headers.host && !isHost(headers.host)))
    return ['400 Bad Request', 'The target of a request is a path, or an http URL with a host and a path.'];
  const schemes = isBehindProxy ? ['http', 'https'] : ['http'];
  if (!schemes.includes(scheme.toLowerCase()))
    return ['421 Misdirected Request', `This connection is for ${schemes.join(' and ')} URLs.`];
  headers.host = authority;
  req.url = withoutNeedlessEscapes(`${path}${query}`);
  return undefined;
}

function withoutNeedlessEscapes(url: string): string {
  const at = url.indexOf('?');
  const end = at < 0 ? url.length : at;
  return url.slice(0, end).replace(NEEDLESS_ESCAPE, decodeURIComponent) + url.slice(end);
}

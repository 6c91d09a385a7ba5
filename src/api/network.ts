/** The address that a request comes from. */
import { isIPv6 } from 'node:net';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/;
/** Set by proxies. One on this machine may forward requests of others. */
const FORWARDING_FIELDS = ['x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'forwarded', 'via'] as const;

/** Whether a program on this machine sent the request, by the connection's address: headers can claim anything. */
export const isFromThisMachine = ({ socket, headers }: Pick<Request, 'socket' | 'headers'>): boolean =>
  LOOPBACK.test(socket.remoteAddress ?? '') && FORWARDING_FIELDS.every((field) => headers[field] === undefined);

/** Groups of an IPv6 address that one customer is given (RFC 6177). */
const NETWORK_PARTS = 4;
const LONGEST_NAME = 64;

/** The network of one customer: an IPv4 address, or the first 64 bits of an IPv6 address. */
export function networkOf(address: string): string {
  // A proxy may pass on any text; it is cut since it is kept in memory.
  if (!isIPv6(address)) return address.slice(0, LONGEST_NAME);
  const parsed = ipaddr.IPv6.parse(address);
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString();
  return `${parsed.parts
    .slice(0, NETWORK_PARTS)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}

/** The sender's network, as reported by a trusted proxy if there is one. */
export const networkOfRequest = (req: Request): string => networkOf(req.ip ?? '');

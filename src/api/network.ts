/** Where a request comes from. */
import { isIPv6 } from 'node:net';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/;
/** A proxy on this machine passes on what others ask. */
const FORWARDING_FIELDS = ['x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'forwarded', 'via'] as const;

/** Whether a program of this machine asks: by the address of the connection, since headers can claim anything. */
export const isFromThisMachine = ({ socket, headers }: Pick<Request, 'socket' | 'headers'>): boolean =>
  LOOPBACK.test(socket.remoteAddress ?? '') && FORWARDING_FIELDS.every((field) => headers[field] === undefined);

/** Of an IPv6 address the part that one customer is given (RFC 6177). */
const NETWORK_PARTS = 4;
const LONGEST_NAME = 64;

/** The network that one person can be taken to have all of: an IPv4 address, or the first 64 bits of an IPv6 address. */
export function networkOf(address: string): string {
  // What a proxy passes on need not be an address; it is remembered all the same, so it has an end.
  if (!isIPv6(address)) return address.slice(0, LONGEST_NAME);
  const parsed = ipaddr.IPv6.parse(address);
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString();
  return `${parsed.parts
    .slice(0, NETWORK_PARTS)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}

/** The network of whoever sent the request; behind a trusted proxy as that tells it. */
export const networkOfRequest = (req: Request): string => networkOf(req.ip ?? '');

/** Where a request comes from: the address of its sender, in one spelling, and its network. */
import { isIP } from 'node:net';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Longer than any address with brackets and port. */
const LONGEST_ADDRESS = 100;
/** As proxies write it: an address, or one with a port, an IPv6 address then in brackets. */
const NODE = /^(?:\[([\da-f:.]+)\]|([\d.]+))(?::\d{1,5})?$/i;

/** The address in what a connection or a proxy names its sender; undefined if there is none. */
function parsedAddress(text: string): Address | undefined {
  if (text.length > LONGEST_ADDRESS) return undefined;
  const [, v6, v4] = NODE.exec(text) ?? [];
  const address = v6 ?? v4 ?? text;
  return isIP(address) === 0 ? undefined : ipaddr.process(address);
}

/** Groups of an IPv6 address that one customer is given (RFC 6177). */
const NETWORK_PARTS = 4;

/** The network of one customer: an IPv4 address, or the first 64 bits of an IPv6 address. */
function networkOf(address: Address): string {
  if (address instanceof ipaddr.IPv4) return address.toString();
  const parts = address.parts.slice(0, NETWORK_PARTS).map((part) => part.toString(16));
  return `${parts.join(':')}::/64`;
}

const UNKNOWN = 'unknown';

/** As reported by a trusted proxy; the nearest proxy's own address if it reports none. */
const senderOf = ({ ip, socket }: Pick<Request, 'ip' | 'socket'>): Address | undefined =>
  parsedAddress(ip ?? '') ?? parsedAddress(socket.remoteAddress ?? '');

/** The sender's address in one spelling, for the log. */
export const addressOfRequest = (req: Pick<Request, 'ip' | 'socket'>): string => senderOf(req)?.toString() ?? UNKNOWN;

/** The sender's network. */
export function networkOfRequest(req: Pick<Request, 'ip' | 'socket'>): string {
  const sender = senderOf(req);
  return sender === undefined ? UNKNOWN : networkOf(sender);
}

/** Set by proxies. One on this machine may forward requests of others. */
const FORWARDING_FIELDS = ['x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'forwarded', 'via'] as const;

/** Whether a program on this machine sent the request, by the connection's address: headers can claim anything. */
export const isFromThisMachine = ({ socket, headers }: Pick<Request, 'socket' | 'headers'>): boolean =>
  parsedAddress(socket.remoteAddress ?? '')?.range() === 'loopback' &&
  FORWARDING_FIELDS.every((field) => headers[field] === undefined);

/**
 * Addresses to which webhooks may be sent: public ones on the allowed ports (WEBHOOK_ALLOWED_PORTS), and any port in
 * networks that the operator allows (WEBHOOK_ALLOWED_NETWORKS).
 */
import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { CheckTarget } from '../commands/webhooks/settings.js';
import { withTimeout } from '../supervision/deadline.js';
import { type LookUpAll, receiverLookUp } from './receiverLookup.js';

/** Why an address is refused on this port; undefined if it may be used. */
export type AddressPolicy = (address: string, port: number) => string | undefined;

const HTTPS_PORT = 443;

type Network = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/**
 * Public addresses that lead into a cloud's own machinery. Other clouds' metadata services have link-local, private or
 * shared addresses, which are refused anyway.
 */
const OF_AZURE = '168.63.129.16';

/** Global unicast, the only IPv6 block that is routed in public (RFC 4291 §2.4, IANA registry). */
const GLOBAL_UNICAST_V6 = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Refuses everything that is not public unicast by the IANA special-purpose registries. This includes IPv6 forms that
 * carry an IPv4 address (mapped, NAT64, 6to4, Teredo), since they lead to the inner address.
 * @param allowedNetworks CIDRs that may be used anyway, on any port, such as `10.1.0.0/16`
 * @param allowedPorts of public addresses: services on other ports are not meant for webhooks
 * @throws Error naming the invalid CIDR
 */
export function addressPolicy(
  allowedNetworks: readonly string[],
  allowedPorts: readonly number[] = [HTTPS_PORT],
): AddressPolicy {
  const allowed = allowedNetworks.map(parseNetwork);
  return (text, port) => {
    if (!ipaddr.isValid(text)) return `${text} is no IP address`;
    const address = ipaddr.parse(text);
    if (isWithin(address, allowed)) return undefined;
    if (address.toString() === OF_AZURE) return `${text} is the platform address of Azure`;
    const range = address.range();
    if (range !== 'unicast') return `${text} is not a public address (${range})`;
    const isGlobal = address instanceof ipaddr.IPv4 || address.match(GLOBAL_UNICAST_V6);
    if (!isGlobal) return `${text} is not a public address`;
    return allowedPorts.includes(port) ? undefined : `${text} may be used on port ${allowedPorts.join(' or ')} only`;
  };
}

function parseNetwork(cidr: string): Network {
  if (!ipaddr.isValidCIDR(cidr)) throw new Error(`${cidr} is no network in CIDR form, like 10.1.0.0/16.`);
  return ipaddr.parseCIDR(cidr);
}

/** An IPv4-mapped IPv6 address is also within the networks of its IPv4 address. */
function isWithin(address: ipaddr.IPv4 | ipaddr.IPv6, networks: readonly Network[]): boolean {
  const inner = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
  return networks.some(([network, bits]) =>
    [address, inner].some((form) => form.kind() === network.kind() && form.match(network, bits)),
  );
}

/** The address was refused before anything was sent to it. */
export class RefusedAddressError extends Error {}

/**
 * The addresses of a host, a name or an address itself, that the policy allows.
 * @throws RefusedAddressError if there is none; what the lookup throws
 */
async function allowedAddresses(
  policy: AddressPolicy,
  port: number,
  lookUp: LookUpAll,
  hostname: string,
): Promise<[LookupAddress, ...LookupAddress[]]> {
  const literal = withoutBrackets(hostname);
  const family = isIP(literal);
  const found = family === 0 ? await lookUp(hostname) : [{ address: literal, family }];
  const [first, ...others] = found.filter(({ address }) => policy(address, port) === undefined);
  if (first !== undefined) return [first, ...others];
  const reasons = found.map(({ address }) => policy(address, port)).join('; ');
  throw new RefusedAddressError(`The address is refused: ${reasons || 'the name has no address'}.`);
}

/**
 * A `lookup` for `net.connect` to this port that returns only addresses the policy allows. The connection is made to
 * exactly these, so a name that changes its addresses between check and connect gains nothing.
 */
export const checkedLookup =
  (policy: AddressPolicy, port: number, lookUp: LookUpAll = receiverLookUp): LookupFunction =>
  (hostname, { all }, callback) =>
    void allowedAddresses(policy, port, lookUp, hostname).then(
      (addresses) => (all ? callback(null, addresses) : callback(null, addresses[0].address, addresses[0].family)),
      (error: Error) => callback(error, []),
    );

/**
 * Checks hosts that are IP addresses, which are not looked up. The URL parser has already normalised decimal, octal and
 * hexadecimal forms.
 * @param hostname of a URL; IPv6 with or without brackets
 * @throws RefusedAddressError if the policy refuses the address
 */
export function checkLiteral(policy: AddressPolicy, hostname: string, port: number): void {
  const address = withoutBrackets(hostname);
  const reason = isIP(address) === 0 ? undefined : policy(address, port);
  if (reason !== undefined) throw new RefusedAddressError(`The address is refused: ${reason}.`);
}

/** The port of an HTTPS URL, which leaves out 443. */
export const portOf = ({ port }: { readonly port: string }): number => (port === '' ? HTTPS_PORT : Number(port));

const withoutBrackets = (hostname: string): string => hostname.replace(/^\[|\]$/g, '');

const CREATION_LOOKUP_MS = 3000;

/**
 * Checks a URL when a webhook is created, for an early and clear answer. Each attempt checks again when it connects, so
 * a name that cannot be looked up now is accepted.
 */
export function createTargetCheck(policy: AddressPolicy, lookUp: LookUpAll = receiverLookUp): CheckTarget {
  return async (text) => {
    const url = new URL(text);
    try {
      await withTimeout(CREATION_LOOKUP_MS, '', allowedAddresses(policy, portOf(url), lookUp, url.hostname));
    } catch (error) {
      if (error instanceof RefusedAddressError)
        return `must lead to a public address on an allowed port. ${error.message}`;
      // A lookup that fails or takes too long proves nothing.
    }
    return undefined;
  };
}

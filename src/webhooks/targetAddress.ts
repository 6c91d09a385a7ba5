/** Which addresses a webhook may be sent to: public ones, and what the operator allows (WEBHOOK_ALLOWED_NETWORKS). */
import { type LookupAddress, lookup as lookUpName } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { targetUrlError } from '../domain/webhook/targetUrl.js';

/** Why the address is refused; undefined when it may be used. */
export type AddressPolicy = (address: string) => string | undefined;

type Network = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/**
 * Public addresses that lead into the cloud's own machinery all the same. The metadata services of other
 * clouds are link-local, private or shared addresses, which are refused anyway.
 */
const REFUSED_PUBLIC = new Map([['168.63.129.16', 'the platform address of Azure']]);

/** Global unicast, the only IPv6 block that is routed in public (RFC 4291 §2.4, IANA registry). */
const GLOBAL_UNICAST_V6 = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Everything is refused that is not public unicast by the IANA special-purpose registries, among it IPv6 forms that
 * carry an IPv4 address (mapped, NAT64, 6to4, Teredo), since they lead where the inner address leads.
 * @param allowedNetworks CIDRs that may be used none the less, like `10.1.0.0/16`
 * @throws Error naming the CIDR that is none
 */
export function addressPolicy(allowedNetworks: readonly string[]): AddressPolicy {
  const allowed = allowedNetworks.map(parseNetwork);
  return (text) => {
    if (!ipaddr.isValid(text)) return `${text} is no IP address`;
    const address = ipaddr.parse(text);
    if (isWithin(address, allowed)) return undefined;
    const special = REFUSED_PUBLIC.get(address.toString());
    if (special !== undefined) return `${text} is ${special}`;
    const range = address.range();
    if (range !== 'unicast') return `${text} is not a public address (${range})`;
    const isGlobal = address instanceof ipaddr.IPv4 || address.match(GLOBAL_UNICAST_V6);
    return isGlobal ? undefined : `${text} is not a public address`;
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
export class RefusedAddressError extends Error {
  override readonly name = 'RefusedAddressError';
}

/** All addresses of a host name, as `dns.lookup` with `all` gives them. */
export type LookUpAll = (
  hostname: string,
  options: { readonly all: true; readonly family?: number | string },
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

/** The system's resolver, which knows /etc/hosts and the names of containers. */
export const systemLookUp: LookUpAll = (hostname, _options, callback) => lookUpName(hostname, { all: true }, callback);

/**
 * A `lookup` for `net.connect` that answers only addresses the policy lets pass. The connection is made to exactly
 * what is answered here, so a name that changes its addresses between check and connect gains nothing.
 */
export function checkedLookup(policy: AddressPolicy, lookUp: LookUpAll = systemLookUp): LookupFunction {
  return (hostname, options, callback) => {
    lookUp(hostname, { all: true }, (error, found) => {
      if (error !== null) return callback(error, []);
      const addresses = found.filter(({ address }) => policy(address) === undefined);
      const [first] = addresses;
      if (first === undefined) return callback(refusal(policy, found), []);
      if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

function refusal(policy: AddressPolicy, found: readonly LookupAddress[]): RefusedAddressError {
  const reasons = found.map(({ address }) => policy(address)).join('; ');
  return new RefusedAddressError(`The address is refused: ${reasons || 'the name has no address'}.`);
}

/**
 * For hosts that are IP addresses, of which no lookup is made. The URL parser has brought decimal, octal and
 * hexadecimal forms into the usual one before.
 * @param hostname of a URL; IPv6 with or without brackets
 * @throws RefusedAddressError when the host is an address that the policy refuses
 */
export function checkLiteral(policy: AddressPolicy, hostname: string): void {
  const address = withoutBrackets(hostname);
  const reason = isIP(address) === 0 ? undefined : policy(address);
  if (reason !== undefined) throw new RefusedAddressError(`The address is refused: ${reason}.`);
}

const withoutBrackets = (hostname: string): string => hostname.replace(/^\[|\]$/g, '');

/** Why a URL cannot be a webhook's target, to be read after "The url field"; undefined when it can. */
export type TargetCheck = (url: string) => Promise<string | undefined>;

const CREATION_LOOKUP_MS = 3000;

/**
 * The check for when a webhook is made, for an early and clear answer; each attempt checks again when it connects.
 * So a name that cannot be looked up now is let pass.
 */
export function createTargetCheck(policy: AddressPolicy, lookUp: LookUpAll = systemLookUp): TargetCheck {
  return async (text) => {
    const wrong = targetUrlError(text);
    if (wrong !== undefined) return wrong;
    const { hostname } = new URL(text);
    try {
      checkLiteral(policy, hostname);
      if (isIP(withoutBrackets(hostname)) === 0) await checkName(checkedLookup(policy, lookUp), hostname);
    } catch (error) {
      if (error instanceof RefusedAddressError) return `must lead to a public address. ${error.message}`;
      throw error;
    }
    return undefined;
  };
}

/** Rejects when the name leads to refused addresses only; a lookup that fails or takes too long says nothing. */
function checkName(lookup: LookupFunction, hostname: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, CREATION_LOOKUP_MS);
    lookup(hostname, { all: true }, (error) => {
      clearTimeout(timer);
      if (error instanceof RefusedAddressError) reject(error);
      else resolve();
    });
  });
}

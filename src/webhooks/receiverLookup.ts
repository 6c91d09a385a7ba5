/**
 * Looks up receivers' host names so that a name server that never answers delays no other receiver.
 *
 * `dns.lookup` holds one of the process's few shared threads until the system gives up, mostly after 10 s. So names are
 * looked up as the system would (the hosts file, then DNS with the search domains of resolv.conf(5)), but without a
 * thread and within a limit.
 */
import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { errorCode } from '../supervision/errorCode.js';

/** Finds all addresses of a host name, as `dns.lookup` with `all` does. */
export type LookUpAll = (hostname: string) => Promise<readonly LookupAddress[]>;

/** Less than an attempt's limit for its connection. */
const LOOKUP_MS = 4_000;
/** Limit of one DNS query, before it is repeated. */
const QUESTION_MS = 1_300;
const TRIES = 2;
/** How long IPv4 addresses wait for the IPv6 ones (RFC 8305 §3). */
const FOR_IPV6_MS = 50;
const HOSTS_FILE = '/etc/hosts';
const RESOLV_FILE = '/etc/resolv.conf';

type Resolve = Pick<Resolver, 'resolve4' | 'resolve6' | 'cancel'>;

export type LookUpParts = {
  readonly hostsFile?: string;
  readonly resolvFile?: string;
  /** A new one for each name, so that each can be cancelled alone. */
  readonly resolver?: () => Resolve;
  readonly lookupMs?: number;
};

/** Neither the hosts file nor DNS has an address of the name. */
export class NameNotFoundError extends Error {}

/** The name servers did not answer in time. */
export class NameServersSilentError extends Error {}

/** @returns a lookup that throws NameNotFoundError, NameServersSilentError */
export function createReceiverLookUp(parts: LookUpParts = {}): LookUpAll {
  const {
    hostsFile = HOSTS_FILE,
    resolvFile = RESOLV_FILE,
    resolver = () => new Resolver({ timeout: QUESTION_MS, tries: TRIES }),
    lookupMs = LOOKUP_MS,
  } = parts;
  return async (hostname) => {
    const listed = await inHostsFile(hostsFile, hostname);
    return listed.length > 0 ? listed : byDns(resolver, await namesToAsk(resolvFile, hostname), lookupMs);
  };
}

/** Reads lines of an address and its names (hosts(5)). */
async function inHostsFile(file: string, hostname: string): Promise<LookupAddress[]> {
  const wanted = withoutDot(hostname.toLowerCase());
  return (await wordsOf(file)).flatMap(([address = '', ...names]) => {
    const family = isIP(address);
    return family !== 0 && names.some((name) => withoutDot(name.toLowerCase()) === wanted) ? [{ address, family }] : [];
  });
}

const withoutDot = (name: string): string => name.replace(/\.$/, '');

/** The words of each line, without comments; none if the file cannot be read. */
async function wordsOf(file: string): Promise<readonly (readonly string[])[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').map((line) =>
    line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/),
  );
}

/**
 * The name itself and the name below each search domain. The name itself is first if it has enough dots
 * (resolv.conf(5)).
 */
async function namesToAsk(file: string, hostname: string): Promise<readonly string[]> {
  if (hostname.endsWith('.')) return [hostname];
  const lines = await wordsOf(file);
  const domains = lines.findLast(([keyword]) => keyword === 'search' || keyword === 'domain')?.slice(1) ?? [];
  const options = lines.flatMap(([keyword, ...words]) => (keyword === 'options' ? words : []));
  const dots = Number(options.findLast((option) => /^ndots:\d+$/.test(option))?.slice('ndots:'.length) ?? 1);
  const below = domains.map((domain) => `${hostname}.${domain}`);
  return hostname.split('.').length > dots ? [hostname, ...below] : [...below, hostname];
}

/**
 * @returns the addresses of the first name that has any
 * @throws NameNotFoundError, NameServersSilentError
 */
async function byDns(resolver: () => Resolve, names: readonly string[], lookupMs: number): Promise<LookupAddress[]> {
  const until = performance.now() + lookupMs;
  let failure: unknown;
  for (const name of names) {
    // A resolver that has had answers waits less for the next one, and one server's speed says little about another's.
    const settled = await ask(resolver(), name, until - performance.now());
    const found = settled.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    if (found.length > 0) return found;
    const failures = settled.flatMap((result) => (result.status === 'rejected' ? [errorCode(result.reason)] : []));
    if (failures.some((code) => SILENT.includes(code))) {
      throw new NameServersSilentError(`the name servers of ${name} did not answer in time`);
    }
    failure ??= failures[0];
  }
  throw new NameNotFoundError(`${names[0]} was not found in the hosts file nor by DNS (${String(failure)})`);
}

/** IPv4 and IPv6 addresses of a name. Rejected with a code if there are none or the time is over. */
async function ask(
  resolver: Resolve,
  name: string,
  withinMs: number,
): Promise<PromiseSettledResult<LookupAddress[]>[]> {
  const giveUpIn = (milliseconds: number) => setTimeout(() => resolver.cancel(), milliseconds);
  let timer = giveUpIn(withinMs);
  const v4 = resolver.resolve4(name).then((found) => {
    clearTimeout(timer);
    timer = giveUpIn(FOR_IPV6_MS);
    return found.map((address) => ({ address, family: 4 }));
  });
  const v6 = resolver.resolve6(name).then((found) => found.map((address) => ({ address, family: 6 })));
  const settled = await Promise.allSettled([v4, v6]);
  clearTimeout(timer);
  return settled;
}

const SILENT: readonly unknown[] = ['ETIMEOUT', 'ECANCELLED'];

/** The lookup of this process. */
export const receiverLookUp: LookUpAll = createReceiverLookUp();

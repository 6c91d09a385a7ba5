/**
 * Looks up receivers' host names so that a name server that never answers delays no other receiver.
 *
 * `dns.lookup` holds one of the process's few shared threads until the system gives up, mostly after 10 s. So a name is
 * looked up in the hosts file, then by DNS, without a thread and within a limit.
 */
import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { errorCode } from '../supervision/files.js';

/** Finds all addresses of a host name, as `dns.lookup` with `all` does. */
export type LookUpAll = (hostname: string) => Promise<readonly LookupAddress[]>;

/** Limit of one DNS query, before it is repeated. Both tries take less than an attempt's limit for its connection. */
const QUERY_MS = 1_300;
const TRIES = 2;
/** How long IPv4 addresses wait for the IPv6 ones (RFC 8305 §3). */
const FOR_IPV6_MS = 50;

/** The name servers did not answer in time. */
export class NameServersSilentError extends Error {}

/**
 * @param newResolver makes one for each name, so that each can be cancelled alone
 * @returns a lookup that throws NameServersSilentError, or an Error that says that there is no such name
 */
export const createReceiverLookUp =
  (hostsFile = '/etc/hosts', newResolver = () => new Resolver({ timeout: QUERY_MS, tries: TRIES })): LookUpAll =>
  async (hostname) => {
    const listed = await inHostsFile(hostsFile, hostname);
    if (listed.length > 0) return listed;
    const resolver = newResolver();
    let timer: NodeJS.Timeout | undefined;
    const v4 = resolver.resolve4(hostname).then((found) => {
      timer = setTimeout(() => resolver.cancel(), FOR_IPV6_MS);
      return found.map((address) => ({ address, family: 4 }));
    });
    const v6 = resolver.resolve6(hostname).then((found) => found.map((address) => ({ address, family: 6 })));
    const settled = await Promise.allSettled([v4, v6]);
    clearTimeout(timer);
    const found = settled.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    if (found.length > 0) return found;
    const failures = settled.flatMap((result) => (result.status === 'rejected' ? [errorCode(result.reason)] : []));
    if (failures.includes('ETIMEOUT'))
      throw new NameServersSilentError(`the name servers of ${hostname} did not answer in time`);
    throw new Error(`${hostname} was not found in the hosts file nor by DNS (${String(failures[0])})`);
  };

/** Reads lines of an address and its names (hosts(5)); none if the file cannot be read. */
async function inHostsFile(file: string, hostname: string): Promise<LookupAddress[]> {
  const wanted = hostname.toLowerCase();
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    const family = isIP(address);
    return family !== 0 && names.some((name) => name.toLowerCase() === wanted) ? [{ address, family }] : [];
  });
}

/** The lookup of this process. */
export const receiverLookUp: LookUpAll = createReceiverLookUp();

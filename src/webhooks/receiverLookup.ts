/**
 * Looks up receivers' names so that one whose name server never answers holds up no other.
 *
 * `dns.lookup` takes one of the few threads that all of the process shares, and keeps it until the system gives up, mostly
 * after 10 s. So a name is looked for in the hosts file, then by DNS without a thread, within a limit; and the system, which
 * knows other ways as well (search domains, mDNS), is asked one name at a time, and only for those that DNS says it has not.
 */
import { type LookupAddress, lookup as lookUpBySystem } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import PQueue from 'p-queue';
import { withinTime } from '../supervision/waiting.js';

/** All addresses of a host name, as `dns.lookup` with `all` gives them. */
export type LookUpAll = (
  hostname: string,
  options: { readonly all: true; readonly family?: number | string },
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

/** In milliseconds: less than an attempt has for its connection. */
const LOOKUP_MS = 4_000;
/** Of one question, before it is asked again. */
const QUESTION_MS = 1_300;
const TRIES = 2;
/** How long the addresses of one family wait for those of the other (RFC 8305 §3). */
const OTHER_FAMILY_MS = 50;
const HOSTS_FILE = '/etc/hosts';

type Resolve = Pick<Resolver, 'resolve4' | 'resolve6' | 'cancel'>;

export type LookUpParts = {
  readonly hostsFile?: string;
  /** One for each lookup, so that it can be given up alone. */
  readonly resolver?: () => Resolve;
  readonly system?: LookUpAll;
  readonly lookupMs?: number;
};

/** What was asked for a name did not answer in time. */
export class NameLookupError extends Error {
  override readonly name = 'NameLookupError';
}

/** A `lookUp` for `checkedLookup`. */
export function createReceiverLookUp(parts: LookUpParts = {}): LookUpAll {
  const {
    hostsFile = HOSTS_FILE,
    resolver = () => new Resolver({ timeout: QUESTION_MS, tries: TRIES }),
    system = (hostname, _options, callback) => lookUpBySystem(hostname, { all: true }, callback),
    lookupMs = LOOKUP_MS,
  } = parts;
  const bySystem = new SystemTurns(system, lookupMs);
  const find = async (hostname: string): Promise<LookupAddress[]> => {
    const listed = await inHostsFile(hostsFile, hostname);
    if (listed.length > 0) return listed;
    return (await byDns(resolver(), hostname, lookupMs)) ?? bySystem.find(hostname);
  };
  return (hostname, _options, callback) => {
    find(hostname).then(
      (addresses) => callback(null, addresses),
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error)), []),
    );
  };
}

/** Lines of an address and the names that it has (hosts(5)). */
async function inHostsFile(file: string, hostname: string): Promise<LookupAddress[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const wanted = withoutDot(hostname.toLowerCase());
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/);
    const family = isIP(address);
    return family !== 0 && names.some((name) => withoutDot(name) === wanted) ? [{ address, family }] : [];
  });
}

const withoutDot = (name: string): string => name.replace(/\.$/, '');

/** @returns undefined where DNS has no address of it @throws NameLookupError when it does not answer in time */
async function byDns(resolver: Resolve, hostname: string, lookupMs: number): Promise<LookupAddress[] | undefined> {
  const giveUpIn = (milliseconds: number) => setTimeout(() => resolver.cancel(), milliseconds);
  let timer = giveUpIn(lookupMs);
  const addresses = async (family: 4 | 6): Promise<LookupAddress[]> => {
    const found = family === 4 ? await resolver.resolve4(hostname) : await resolver.resolve6(hostname);
    clearTimeout(timer);
    timer = giveUpIn(OTHER_FAMILY_MS);
    return found.map((address) => ({ address, family }));
  };
  const settled = await Promise.allSettled([addresses(4), addresses(6)]);
  clearTimeout(timer);
  const found = settled.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  if (found.length > 0) return found;
  const isSilent = settled.some((result) => result.status === 'rejected' && SILENT.includes(codeOf(result.reason)));
  if (isSilent) throw new NameLookupError(`the name servers of ${hostname} did not answer in time`);
  return undefined;
}

const SILENT: readonly unknown[] = ['ETIMEOUT', 'ECANCELLED'];
const codeOf = (error: unknown): unknown =>
  typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;

/** The system is asked for one name at a time; whoever would wait too long is told so instead. */
class SystemTurns {
  readonly #turns = new PQueue({ concurrency: 1 });
  readonly #lookUp: LookUpAll;
  readonly #lookupMs: number;

  constructor(lookUp: LookUpAll, lookupMs: number) {
    this.#lookUp = lookUp;
    this.#lookupMs = lookupMs;
  }

  async find(hostname: string): Promise<LookupAddress[]> {
    let isWanted = true;
    // The turn lasts until the system has answered, as its thread does.
    const asked = this.#turns.add(async () => (isWanted ? this.#ask(hostname) : []));
    try {
      return await withinTime(this.#lookupMs, `the system did not look up ${hostname} in time`, asked);
    } finally {
      isWanted = false;
      // A late failure is nobody's.
      asked.catch(() => undefined);
    }
  }

  #ask(hostname: string): Promise<LookupAddress[]> {
    return new Promise((resolve, reject) => {
      this.#lookUp(hostname, { all: true }, (error, found) => (error === null ? resolve(found) : reject(error)));
    });
  }
}

/** That of this process. */
export const receiverLookUp: LookUpAll = createReceiverLookUp();

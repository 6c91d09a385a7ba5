import { readFileSync } from 'node:fs';
import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { type ChannelCredentialOptions, EventStoreDBClient } from '@eventstore/db-client';
import {
  type ConnectionOptions,
  parseConnectionString,
} from '@eventstore/db-client/dist/Client/parseConnectionString.js';

/** The connection string cannot be used. The message never quotes it, as it may hold a password. */
export class ConnectionStringError extends Error {
  override readonly name = 'ConnectionStringError';
  constructor(reason: string) {
    super(`The EventStoreDB URL is refused: ${reason}. It looks like esdb://user:password@host:2113?tls=true.`);
  }
}

/** The library's client. */
export class StoreClient extends EventStoreDBClient {
  /** Mends two faults (decision 0020). Call it before the first call. */
  mended(): this {
    // Appends that share a call can wait for ever, or end the process.
    this.supports = async () => false;
    const reconnect = this.handleError;
    // It rejects where no node answered who leads, which its caller does not await.
    this.handleError = (client, error) => reconnect(client, error).catch(() => undefined);
    return this;
  }

  /** Ends its reads and subscriptions, and its connection once its appends have ended. */
  async abandon(): Promise<void> {
    const close = async (): Promise<void> => {
      const channel = await this.getChannel();
      // Calls that waited for it as well begin first: on a closed channel they throw where nothing catches it.
      await eventLoopTurn();
      channel.close();
    };
    setTimeout(() => void close().catch(() => undefined), CHANNEL_KEPT_MS).unref();
    await this.dispose();
  }
}

/** A channel that is closed in the same moment as a call begins would throw where nothing catches it. */
const CHANNEL_KEPT_MS = 10_000;

/** Limit for a node's answer to the question who leads, in seconds. */
const GOSSIP_SECONDS = 1;

/** Options that the client knows (lower case, no `_` or `-`). For others it would print the whole URL. */
const OPTIONS = [
  'usercertfile',
  'userkeyfile',
  'maxdiscoverattempts',
  'connectionname',
  'defaultdeadline',
  'discoveryinterval',
  'gossiptimeout',
  'nodepreference',
  'tls',
  'tlsverifycert',
  'tlscafile',
  'keepaliveinterval',
  'keepalivetimeout',
];

/**
 * Parses `esdb://`, `esdb+discover://` or the same with `kurrentdb`, and reads the certificates.
 * @returns makes a client, which connects at its first call
 * @throws ConnectionStringError
 */
export function connect(url: string): () => StoreClient {
  const text = url.trim().replace(/^kurrentdb/, 'esdb');
  const [, query = ''] = text.split('?', 2);
  for (const option of query.split('&')) if (option !== '') checkOption(option);
  const { hosts, dnsDiscover, defaultCredentials, ...options } = parsed(text);
  const channel = options.tls === false ? { insecure: true } : { insecure: false, ...certificatesOf(options) };
  const [host] = hosts;
  if (host === undefined) throw unreadable();
  const cluster = { ...options, endpoints: hosts, nodePreference: 'leader' as const, gossipTimeout: GOSSIP_SECONDS };
  const isCluster = dnsDiscover || hosts.length > 1;
  return () => {
    try {
      const one = { ...options, endpoint: host };
      const client = isCluster
        ? new StoreClient(cluster, channel, defaultCredentials)
        : new StoreClient(one, channel, defaultCredentials);
      return client.mended();
    } catch {
      throw unreadable();
    }
  };
}

const unreadable = () => new ConnectionStringError('the client cannot read it');

function parsed(text: string): ConnectionOptions {
  try {
    return parseConnectionString(text);
  } catch (error) {
    throw error instanceof URIError
      ? new ConnectionStringError('its user or password is not URL-encoded')
      : unreadable();
  }
}

function certificatesOf({
  tlsCAFile,
  userCertFile,
  userKeyFile,
}: Omit<ConnectionOptions, 'hosts' | 'dnsDiscover'>): ChannelCredentialOptions {
  if ((userCertFile === undefined) !== (userKeyFile === undefined)) {
    throw new ConnectionStringError('userCertFile and userKeyFile go together');
  }
  return {
    ...(tlsCAFile !== undefined && { rootCertificate: certificate('tlsCAFile', tlsCAFile) }),
    ...(userCertFile !== undefined && { userCertFile: certificate('userCertFile', userCertFile) }),
    ...(userKeyFile !== undefined && { userKeyFile: certificate('userKeyFile', userKeyFile) }),
  };
}

function certificate(option: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    throw new ConnectionStringError(`the certificate file that ${option} names cannot be read`);
  }
}

function checkOption(option: string): void {
  const [name = '', value = ''] = option.split('=', 2);
  const known = name.toLowerCase().replace(/[_-]/g, '');
  if (!OPTIONS.includes(known)) throw new ConnectionStringError(`it has an unknown option ${name}`);
  if (known === 'tlsverifycert' && value === 'false') {
    throw new ConnectionStringError('tlsVerifyCert=false has no effect; name the authority with tlsCAFile');
  }
}

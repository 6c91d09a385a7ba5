import { readFileSync } from 'node:fs';
import { setImmediate as immediate } from 'node:timers/promises';
import { EventStoreDBClient } from '@eventstore/db-client';
import { parseConnectionString } from '@eventstore/db-client/dist/Client/parseConnectionString.js';

/** The connection string cannot be used. The message never quotes it, as it may hold a password. */
export class ConnectionStringError extends Error {
  constructor(reason: string) {
    super(`EVENTSTORE_URL is refused: ${reason}. It looks like esdb://user:password@host:2113?tls=true.`);
  }
}

/** A channel that is closed in the same moment as a call begins would throw where nothing catches it. */
const CHANNEL_KEPT_MS = 10_000;

export class StoreClient extends EventStoreDBClient {
  /** Mends two faults (decision 0006). Call it before the first call. */
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
      await immediate();
      channel.close();
    };
    setTimeout(() => void close().catch(() => undefined), CHANNEL_KEPT_MS).unref();
    await this.dispose();
  }
}

/** Limit for a node's answer to the question who leads, in seconds. */
const GOSSIP_SECONDS = 1;

/** Options that the client knows, without `_` and `-`. For others it would print the whole URL. */
const OPTIONS =
  /^(usercertfile|userkeyfile|maxdiscoverattempts|connectionname|defaultdeadline|discoveryinterval|gossiptimeout|nodepreference|tls|tlsverifycert|tlscafile|keepaliveinterval|keepalivetimeout)$/i;

/**
 * Parses `esdb://`, `esdb+discover://` or the same with `kurrentdb`, and reads the certificates.
 * @returns makes a client, which connects at its first call
 * @throws ConnectionStringError
 */
export function connect(url: string): () => StoreClient {
  const text = url.trim().replace(/^kurrentdb/, 'esdb');
  for (const option of text.split('?', 2)[1]?.split('&') ?? []) {
    const [name = '', value] = option.split('=', 2);
    const known = name.replace(/[_-]/g, '');
    if (!OPTIONS.test(known)) throw new ConnectionStringError(`it has an unknown option ${name}`);
    if (/^tlsverifycert$/i.test(known) && value === 'false')
      throw new ConnectionStringError('tlsVerifyCert=false has no effect; name the authority with tlsCAFile');
  }
  try {
    const { hosts, dnsDiscover, defaultCredentials, ...options } = parseConnectionString(text);
    const { tls, tlsCAFile, userCertFile, userKeyFile } = options;
    if ((userCertFile === undefined) !== (userKeyFile === undefined))
      throw new ConnectionStringError('userCertFile and userKeyFile go together');
    const channel = {
      insecure: tls === false,
      ...(tlsCAFile !== undefined && { rootCertificate: certificate(tlsCAFile) }),
      ...(userCertFile !== undefined && { userCertFile: certificate(userCertFile) }),
      ...(userKeyFile !== undefined && { userKeyFile: certificate(userKeyFile) }),
    };
    const [endpoint] = hosts;
    if (endpoint === undefined) throw new Error('It names no host.');
    const cluster = { ...options, endpoints: hosts, nodePreference: 'leader' as const, gossipTimeout: GOSSIP_SECONDS };
    const open = (): StoreClient =>
      dnsDiscover || hosts.length > 1
        ? new StoreClient(cluster, channel, defaultCredentials).mended()
        : new StoreClient({ ...options, endpoint }, channel, defaultCredentials).mended();
    open();
    return open;
  } catch (error) {
    if (error instanceof ConnectionStringError) throw error;
    const isEscaped = error instanceof URIError;
    throw new ConnectionStringError(
      isEscaped ? 'its user or password is not URL-encoded' : 'the client cannot read it',
    );
  }
}

function certificate(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    throw new ConnectionStringError(`the certificate file ${path} cannot be read`);
  }
}

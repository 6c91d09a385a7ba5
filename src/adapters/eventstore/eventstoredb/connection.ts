import { readFileSync } from 'node:fs';
import type { ChannelCredentialOptions, EndPoint } from '@eventstore/db-client';
import {
  type ConnectionOptions,
  parseConnectionString,
} from '@eventstore/db-client/dist/Client/parseConnectionString.js';
import { AppendingClient } from './appendingClient.js';
import { NodeClient, type Nodes } from './leader.js';

/** The connection string cannot be used. The message never quotes it, as it may hold a password. */
export class ConnectionStringError extends Error {
  override readonly name = 'ConnectionStringError';
  constructor(reason: string) {
    super(`The EventStoreDB URL is refused: ${reason}. It looks like esdb://user:password@host:2113?tls=true.`);
  }
}

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
 * Parses `esdb://`, `esdb+discover://` or the same with `kurrentdb`. The clients connect at their first call.
 * @throws ConnectionStringError
 */
export function connect(url: string): Nodes {
  const text = url.trim().replace(/^kurrentdb/, 'esdb');
  const [, query = ''] = text.split('?', 2);
  for (const option of query.split('&')) if (option !== '') checkOption(option);
  const { hosts, dnsDiscover, defaultCredentials, ...options } = parsed(text);
  const secure = options.tls !== false;
  const channel = secure ? { insecure: false, ...certificatesOf(options) } : { insecure: true };
  const openWith = <Client>(Of: ClientClass<Client>, endpoint: EndPoint): Client => {
    try {
      return new Of({ ...options, endpoint }, channel, defaultCredentials);
    } catch {
      throw unreadable();
    }
  };
  const [host] = hosts;
  if (host === undefined) throw unreadable();
  return dnsDiscover || hosts.length > 1
    ? { kind: 'cluster', named: hosts, open: (endPoint) => openWith(NodeClient, endPoint) }
    : { kind: 'one', client: openWith(AppendingClient, host) };
}

type ClientClass<Client> = new (...parts: ConstructorParameters<typeof NodeClient>) => Client;

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

import { type Credentials, EventStoreDBClient } from '@eventstore/db-client';

/** Everything is asked of the leader: a follower may lack what another node has already shown. */
export const OF_LEADER = { requiresLeader: true } as const;

/** The same for each append. */
export type AppendOptions = typeof OF_LEADER & { readonly credentials?: Credentials };

export type Connection = {
  readonly client: EventStoreDBClient;
  /**
   * To be given with each append. The client then makes one call of each append, with a deadline of its own. Without,
   * it sends all appends over one shared stream, where a lost connection can end the process by an unhandled rejection
   * (a write that waits for the stream to drain) and one client's failure rejects the appends of another.
   */
  readonly appendCredentials: Credentials | undefined;
};

/** The connection string cannot be used. The message never quotes it, since it may hold a password. */
export class ConnectionStringError extends Error {
  override readonly name = 'ConnectionStringError';
  constructor(reason: string) {
    super(`The EventStoreDB URL is refused: ${reason}. It looks like esdb://user:password@host:2113?tls=true.`);
  }
}

/** Options the client knows (lower case, no `_` or `-`). Others it would print together with the whole URL. */
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
 * Opens a client for `esdb://`, `esdb+discover://` or the same with `kurrentdb`. Connects at the first call.
 * @throws ConnectionStringError
 */
export function connect(url: string): Connection {
  const text = url.trim().replace(/^kurrentdb/, 'esdb');
  const [address = '', query = ''] = text.split('?', 2);
  const options = query.split('&').filter((option) => option !== '');
  for (const option of options) checkOption(option);
  const user = /^[^:]+:\/\/([^:@/]*):([^@]*)@/.exec(address);
  const secure = !options.some((option) => /^tls=false$/i.test(option));
  const credentials = { username: decoded(user?.[1] ?? ''), password: decoded(user?.[2] ?? '') };
  return {
    client: open(text),
    // Without TLS the client sends no credentials, whatever it is given.
    appendCredentials: secure && user === null ? undefined : credentials,
  };
}

function open(connectionString: string): EventStoreDBClient {
  try {
    return EventStoreDBClient.connectionString(connectionString);
  } catch (error) {
    const reason = error instanceof Error && /certificate|userCertFile/.test(error.message) ? error.message : undefined;
    throw new ConnectionStringError(reason?.replace(/\.$/, '') ?? 'the client cannot read it');
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

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ConnectionStringError('its user or password is not URL-encoded');
  }
}

/** The connection to the server. It connects when needed, and throws the port's errors when the server is away. */
import { MongoBulkWriteError, MongoClient, MongoNetworkError, MongoServerError } from 'mongodb';
import { RowsUnavailableError } from '../../../ports/rowStore.js';
import type {
  CheckpointDocument,
  DefinitionDocument,
  GarbageDocument,
  LeasesDocument,
  StateDocument,
  TenantDocument,
} from './documents.js';

type Opened = { readonly client: MongoClient; readonly database: Database };

/** Where the URL has no path. */
const DEFAULT_DATABASE = 'dynamic_assets';
const SELECTION_TIMEOUT_MS = 2_000;
/** After a failure all calls fail at once for so long, instead of waiting for the time-out again. */
const FAIL_FAST_MS = 500;

const OPTIONS = {
  appName: 'dynamic-assets',
  // Whatever the URL says: a writer decides on what it reads, and an answered write is in the rows for good. On a secondary,
  // progress and leases would be of some time ago.
  readPreference: 'primary',
  readConcernLevel: 'local',
  writeConcern: { w: 'majority' },
  retryWrites: true,
  // The heartbeats find a server that hangs, and end what waits for it: a clean-up or an index may take minutes.
  serverSelectionTimeoutMS: SELECTION_TIMEOUT_MS,
  connectTimeoutMS: SELECTION_TIMEOUT_MS,
  heartbeatFrequencyMS: SELECTION_TIMEOUT_MS,
  socketTimeoutMS: 0,
} as const;

/** Callers are told no more than that; operators, the cause. */
const away = (said: string, error?: Error): RowsUnavailableError =>
  new RowsUnavailableError('The rows cannot be reached.', { cause: new Error(said, { cause: error }) });

export class MongoConnection {
  readonly #url: string;
  #opening: Promise<Opened> | undefined;
  #awayUntil = 0;
  #isClosed = false;

  /** @param url `mongodb://127.0.0.1:27017/assets` */
  constructor(url: string) {
    this.#url = url;
  }

  /** @throws RowsUnavailableError when the server cannot be reached or does not answer; else what `work` throws */
  async run<Result>(work: (database: Database) => Promise<Result>): Promise<Result> {
    if (this.#isClosed) throw new RowsUnavailableError('The rows are closed.');
    if (performance.now() < this.#awayUntil) throw away('MongoDB cannot be reached.');
    try {
      const { client, database } = await this.#open();
      return await unlessLost(client, work(database));
    } catch (error) {
      if (!(error instanceof Error && isPassing(error))) throw error;
      // A server that answers is there for the others.
      if (!(error instanceof MongoServerError)) this.#awayUntil = performance.now() + FAIL_FAST_MS;
      throw away(`MongoDB cannot be used now: ${error.message}`, error);
    }
  }

  /** After a failed connect the client cannot be used again, so the next caller creates another. */
  #open(): Promise<Opened> {
    this.#opening ??= this.#connect().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #connect(): Promise<Opened> {
    const client = new MongoClient(this.#url, OPTIONS).setMaxListeners(0);
    try {
      await client.connect();
      return { client, database: databaseIn(client, this.#url) };
    } catch (error) {
      await client.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const opened = await this.#opening?.catch(() => undefined);
    await opened?.client.close();
  }
}

/** The driver waits for ever where it writes to a socket that is being closed. @throws MongoNetworkError */
function unlessLost<Result>(client: MongoClient, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onLost = (): void => reject(new MongoNetworkError('The connection was lost.'));
    client.once('connectionPoolCleared', onLost);
    work.then(resolve, reject).finally(() => client.off('connectionPoolCleared', onLost));
  });
}

/** All collections. `states` is the one that grows, and may be sharded by `s` and `i`. */
function databaseIn(client: MongoClient, url: string) {
  const db = client.db(databaseOf(url));
  return {
    states: db.collection<StateDocument>('rows'),
    tenants: db.collection<TenantDocument>('row_tenants'),
    definitions: db.collection<DefinitionDocument>('row_definitions'),
    garbage: db.collection<GarbageDocument>('row_garbage'),
    checkpoints: db.collection<CheckpointDocument>('row_checkpoints'),
    leases: db.collection<LeasesDocument>('row_leases'),
    /** The server's clock, which all processes use for leases. Some servers send a number. */
    serverTime: async () => new Date((await db.command({ hello: 1 })).localTime),
  };
}
export type Database = ReturnType<typeof databaseIn>;

/** The URLs of the driver may have several hosts, which `URL` does not parse. */
const databaseOf = (url: string): string => {
  const path = /^mongodb(?:\+srv)?:\/\/[^/]+\/([^?]+)/.exec(url)?.[1];
  return path === undefined ? DEFAULT_DATABASE : decodeURIComponent(path);
};

/**
 * The same may succeed later. Another server takes over: HostUnreachable, NetworkTimeout, ShutdownInProgress,
 * FailedToSatisfyReadPreference, PrimarySteppedDown, SocketException, NotWritablePrimary, InterruptedAtShutdown,
 * InterruptedDueToReplStateChange, NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary. Or the server has no time for this now:
 * MaxTimeMSExpired, ReadConcernMajorityNotAvailableYet, ExceededTimeLimit, TemporarilyUnavailable,
 * IngressRequestRateLimitExceeded, StaleConfig. Or its socket has just closed, and the driver has not noticed yet.
 */
const PASSING_CODES: readonly unknown[] = [
  ...[6, 89, 91, 133, 189, 9001, 10107, 11600, 11602, 13435, 13436],
  ...[50, 134, 262, 365, 462, 13388],
  ...['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END'],
];
const PASSING_ERRORS =
  /^Mongo(ServerSelection|ServerClosed|NotConnected|TopologyClosed|ClientClosed|Pool|WaitQueueTimeout)/;

function isPassing(error: Error): boolean {
  // What the connection threw, without its class. Codes of the server are numbers.
  if (error instanceof MongoBulkWriteError && typeof error.code !== 'number')
    return [error.writeErrors].flat().length === 0;
  if (error instanceof MongoNetworkError || PASSING_ERRORS.test(error.name)) return true;
  return 'code' in error && PASSING_CODES.includes(error.code);
}

const DUPLICATE_KEY = 11_000;

/** Writes that must store their documents unless documents with these ids are there. @returns places of those that are */
export async function unlessThere(write: () => Promise<unknown>): Promise<readonly number[]> {
  try {
    await write();
    return [];
  } catch (error) {
    if (error instanceof MongoBulkWriteError) {
      const errors = [error.writeErrors].flat();
      if (errors.length > 0 && errors.every(({ code }) => code === DUPLICATE_KEY))
        return errors.map(({ index }) => index);
    } else if (error instanceof MongoServerError && error.code === DUPLICATE_KEY) return [0];
    throw error;
  }
}

/** The server ends queries that the client could not cancel. A setting of the API ends lists sooner. */
export const LONGEST_QUERY_MS = 60_000;

/** The connection to the server. It connects when needed, and throws the port's errors when the server is away. */
import type { Collection } from 'mongodb';
import { MongoBulkWriteError, MongoClient, MongoError, MongoNetworkError, MongoServerError } from 'mongodb';
import { RowsUnavailableError } from '../../../ports/rowStore.js';
import type { Cancellation } from '../../../supervision/cancellation.js';
import type {
  CheckpointDocument,
  DefinitionDocument,
  GarbageDocument,
  LeaseDocument,
  StateDocument,
  TenantDocument,
} from './documents.js';

/** All collections. `states` is the one that grows, and may be sharded by `s` and `i`. */
export type Database = {
  readonly states: Collection<StateDocument>;
  readonly tenants: Collection<TenantDocument>;
  readonly definitions: Collection<DefinitionDocument>;
  readonly garbage: Collection<GarbageDocument>;
  readonly checkpoints: Collection<CheckpointDocument>;
  readonly leases: Collection<LeaseDocument>;
  /** The server's clock, which all processes use for leases. */
  serverTime(): Promise<Date>;
};

export type ConnectionOptions = {
  /** `mongodb://127.0.0.1:27017/assets`; without a path the database is `dynamic_assets` */
  readonly url: string;
  /** Operations without an answer or a connection end after so long; 0: never. */
  readonly socketTimeoutMs: number;
};

type Opened = { readonly client: MongoClient; readonly database: Database };

const DEFAULT_DATABASE = 'dynamic_assets';
/**
 * Whatever the URL says: a writer decides on what it reads, and an answered write is in the rows for good. On a secondary,
 * progress and leases would be of some time ago.
 */
const CONSISTENCY = {
  readPreference: 'primary',
  readConcernLevel: 'local',
  writeConcern: { w: 'majority' },
  retryWrites: true,
} as const;

/** Callers are told no more than that; operators, the cause. */
const away = (said: string, error?: Error): RowsUnavailableError =>
  new RowsUnavailableError('The rows cannot be reached.', { cause: new Error(said, { cause: error }) });

const SELECTION_TIMEOUT_MS = 2_000;
/** After a failure all calls fail at once for so long, instead of waiting for the time-out again. */
const FAIL_FAST_MS = 500;

export class MongoConnection {
  readonly #options: ConnectionOptions;
  #opening: Promise<Opened> | undefined;
  #awayUntil = 0;
  #isClosed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** @throws RowsUnavailableError when the server cannot be reached or does not answer; else what `work` throws */
  async run<Result>(work: (database: Database) => Promise<Result>): Promise<Result> {
    if (this.#isClosed) throw new RowsUnavailableError('The rows are closed.');
    if (performance.now() < this.#awayUntil) throw away('MongoDB cannot be reached.');
    try {
      const { database } = await this.#open();
      return await work(database);
    } catch (error) {
      const trouble = troubleOf(error);
      if (trouble === undefined || !(error instanceof Error)) throw error;
      if (trouble === 'away') this.#awayUntil = performance.now() + FAIL_FAST_MS;
      const said = trouble === 'away' ? 'MongoDB cannot be reached' : 'MongoDB is busy';
      throw away(`${said}: ${error.message}`, error);
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
    const client = new MongoClient(this.#options.url, {
      ...CONSISTENCY,
      appName: 'dynamic-assets',
      serverSelectionTimeoutMS: SELECTION_TIMEOUT_MS,
      connectTimeoutMS: SELECTION_TIMEOUT_MS,
      heartbeatFrequencyMS: SELECTION_TIMEOUT_MS,
      socketTimeoutMS: this.#options.socketTimeoutMs,
      waitQueueTimeoutMS: this.#options.socketTimeoutMs,
    });
    try {
      await client.connect();
      return { client, database: databaseIn(client, databaseOf(this.#options.url)) };
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

function databaseIn(client: MongoClient, name: string): Database {
  const db = client.db(name);
  return {
    states: db.collection('rows'),
    tenants: db.collection('row_tenants'),
    definitions: db.collection('row_definitions'),
    garbage: db.collection('row_garbage'),
    checkpoints: db.collection('row_checkpoints'),
    leases: db.collection('row_leases'),
    // Some servers send a number.
    serverTime: async () => new Date((await db.command({ hello: 1 })).localTime),
  };
}

/** The URLs of the driver may have several hosts, which `URL` does not parse. */
const databaseOf = (url: string): string => {
  const path = /^mongodb(?:\+srv)?:\/\/[^/]+\/([^?]+)/.exec(url)?.[1];
  return path === undefined ? DEFAULT_DATABASE : decodeURIComponent(path);
};

/**
 * Another server takes over soon: HostUnreachable, NetworkTimeout, ShutdownInProgress, FailedToSatisfyReadPreference,
 * PrimarySteppedDown, SocketException, NotWritablePrimary, InterruptedAtShutdown, InterruptedDueToReplStateChange,
 * NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary.
 */
const AWAY_CODES: readonly unknown[] = [6, 89, 91, 133, 189, 9001, 10107, 11600, 11602, 13435, 13436];

/**
 * The server answers, and has no time for this now: MaxTimeMSExpired, ReadConcernMajorityNotAvailableYet, ExceededTimeLimit,
 * TemporarilyUnavailable, IngressRequestRateLimitExceeded, StaleConfig.
 */
const BUSY_CODES: readonly unknown[] = [50, 134, 262, 365, 462, 13388];

/** Errors of sockets that the server has just closed, before the driver has noticed. */
const SOCKET_CODES: readonly unknown[] = ['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END'];

const AWAY_ERRORS: ReadonlySet<string> = new Set([
  'MongoServerSelectionError',
  'MongoNotConnectedError',
  'MongoTopologyClosedError',
  'MongoServerClosedError',
  'MongoPoolClosedError',
  'MongoPoolClearedError',
  'MongoWaitQueueTimeoutError',
  'MongoClientClosedError',
]);

/** Why the same may succeed later; undefined if it will not. */
function troubleOf(error: unknown): 'away' | 'busy' | undefined {
  if (error instanceof MongoServerError && BUSY_CODES.includes(error.code)) return 'busy';
  return isAway(error) ? 'away' : undefined;
}

function isAway(error: unknown): boolean {
  // What the connection threw, without its class. Codes of the server are numbers.
  if (error instanceof MongoBulkWriteError && typeof error.code !== 'number')
    return [error.writeErrors].flat().length === 0;
  if (error instanceof MongoServerError) return AWAY_CODES.includes(error.code);
  if (error instanceof MongoNetworkError) return true;
  if (error instanceof MongoError) return AWAY_ERRORS.has(error.name);
  return error instanceof Error && 'code' in error && SOCKET_CODES.includes(error.code);
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

/** Options of a query that ends when it is cancelled. */
export const whileWanted = (cancellation: Cancellation | undefined): { maxTimeMS: number; signal?: AbortSignal } => ({
  maxTimeMS: LONGEST_QUERY_MS,
  ...(cancellation === undefined ? {} : { signal: cancellation.signal }),
});

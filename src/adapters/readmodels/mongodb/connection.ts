/** The connection to the server. It connects when needed, and throws the port's errors when the server is away. */
import type { ClientSession, Collection, Db, Document } from 'mongodb';
import { MongoClient, MongoError, MongoNetworkError, MongoServerError } from 'mongodb';
import { ReadModelsUnavailableError } from '../../../ports/readModels.js';
import type { Cancellation } from '../../../supervision/cancellation.js';
import { Part, type Place } from './part.js';

export type DatabaseLocation = {
  /** `mongodb://127.0.0.1:27017/assets`; without a path the database is `dynamic_assets` */
  readonly url: string;
  /** Prefix of its collections' names; default none. */
  readonly prefix?: string;
};

export type ConnectionOptions = DatabaseLocation & {
  /** Operations without an answer or a connection end after so long. */
  readonly socketTimeoutMs: number;
};

/** For writers, as to delete or count in a very large table takes long. */
export const WRITER_SOCKET_TIMEOUT_MS = 300_000;

const DEFAULT_DATABASE = 'dynamic_assets';
/**
 * Whatever the URL says: a writer decides on what it reads, and an answered write is in the read models for good. On a
 * secondary, state and leases would be of some time ago.
 */
export const CONSISTENCY = {
  readPreference: 'primary',
  readConcernLevel: 'local',
  writeConcern: { w: 'majority' },
} as const;

const SELECTION_TIMEOUT_MS = 2_000;
/** After a failure all calls fail at once for so long, instead of waiting for the time-out again. */
const FAIL_FAST_MS = 500;

export class MongoConnection {
  readonly #options: ConnectionOptions;
  #opening: Promise<OpenDatabase> | undefined;
  #awayUntil = 0;
  #closed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** @throws ReadModelsUnavailableError when the server cannot be reached or does not answer; else what `work` throws */
  async run<Result>(work: (db: LaneDb) => Promise<Result>): Promise<Result> {
    if (this.#closed) throw new ReadModelsUnavailableError('The read models are closed.');
    if (performance.now() < this.#awayUntil) throw new ReadModelsUnavailableError('MongoDB cannot be reached.');
    try {
      return await work(new LaneDb(await this.#open(), this.#options.prefix ?? ''));
    } catch (error) {
      const trouble = troubleOf(error);
      if (trouble === undefined || !(error instanceof Error)) throw error;
      if (trouble === 'away') this.#awayUntil = performance.now() + FAIL_FAST_MS;
      const said = trouble === 'away' ? 'MongoDB cannot be reached' : 'MongoDB is busy';
      throw new ReadModelsUnavailableError(`${said}: ${error.message}`, { cause: error });
    }
  }

  /** After a failed connect the client cannot be used again, so the next caller creates another. */
  #open(): Promise<OpenDatabase> {
    this.#opening ??= this.#connect().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #connect(): Promise<OpenDatabase> {
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
      const db = client.db(databaseOf(this.#options.url));
      return { client, db, hasMoments: await hasMoments(db) };
    } catch (error) {
      await client.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const opened = await this.#opening?.catch(() => undefined);
    await opened?.client.close();
  }
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

/** Why the same may succeed later; undefined if it will not. */
export function troubleOf(error: unknown): 'away' | 'busy' | undefined {
  if (error instanceof MongoServerError && BUSY_CODES.includes(error.code)) return 'busy';
  return isAway(error) ? 'away' : undefined;
}

function isAway(error: unknown): boolean {
  if (error instanceof MongoServerError) return AWAY_CODES.includes(error.code);
  if (error instanceof MongoNetworkError) return true;
  if (error instanceof MongoError) return AWAY_ERRORS.has(error.name);
  return error instanceof Error && 'code' in error && SOCKET_CODES.includes(error.code);
}

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

/** The server ends queries that the client could not cancel. A setting of the API ends lists sooner. */
const LONGEST_QUERY_MS = 60_000;

/** Options of a query that ends when it is cancelled. */
export const whileWanted = (cancellation: Cancellation | undefined): { maxTimeMS: number; signal?: AbortSignal } => ({
  maxTimeMS: LONGEST_QUERY_MS,
  ...(cancellation === undefined ? {} : { signal: cancellation.signal }),
});

type OpenDatabase = {
  readonly client: MongoClient;
  readonly db: Db;
  readonly hasMoments: boolean;
};

/**
 * Whether queries can be asked of one moment: replica sets and sharded clusters from 5.0 on. Other servers refuse the
 * question, or answer it without telling the moment.
 */
async function hasMoments(db: Db): Promise<boolean> {
  const asked = {
    find: 'state',
    limit: 1,
    singleBatch: true,
    projection: { _id: 1 },
    readConcern: { level: 'snapshot' },
  };
  try {
    return (await db.command(asked)).cursor?.atClusterTime !== undefined;
  } catch (error) {
    if (error instanceof MongoServerError && troubleOf(error) === undefined) return false;
    throw error;
  }
}

/** The collections of one lane: their names begin with the lane's prefix. */
export class LaneDb {
  readonly #opened: OpenDatabase;
  readonly #prefix: string;
  readonly session: ClientSession | undefined;

  constructor(opened: OpenDatabase, prefix: string, session?: ClientSession) {
    this.#opened = opened;
    this.#prefix = prefix;
    this.session = session;
  }

  get #db(): Db {
    return this.#opened.db;
  }

  /** Whether the server has `atOneMoment`. */
  get hasMoments(): boolean {
    return this.#opened.hasMoments;
  }

  collection<Schema extends Document = Document>(name: string): Collection<Schema> {
    return this.#db.collection<Schema>(this.#prefix + name);
  }

  part<Stored extends Document & { readonly _id: string }>({ collection, of }: Place): Part<Stored> {
    return new Part(this.collection<Stored>(collection), of, this.session);
  }

  /**
   * Runs reads that all see the data of one moment, which may lie some milliseconds back.
   * @param work gets this database, with a session for its reads, those of `part` too
   */
  atOneMoment<Result>(work: (db: LaneDb) => Promise<Result>): Promise<Result> {
    const { client } = this.#opened;
    return client.withSession({ snapshot: true }, (session) => work(new LaneDb(this.#opened, this.#prefix, session)));
  }

  async collectionNames(): Promise<readonly string[]> {
    const all = await this.#db.listCollections({}, { nameOnly: true }).toArray();
    return all.flatMap(({ name }) => (name.startsWith(this.#prefix) ? [name.slice(this.#prefix.length)] : []));
  }

  async renameCollection(from: string, to: string): Promise<void> {
    await this.#db.renameCollection(this.#prefix + from, this.#prefix + to);
  }

  async dropCollection(name: string): Promise<void> {
    await this.#db.dropCollection(this.#prefix + name);
  }

  /** The server's clock, which all processes use for leases. */
  async serverTime(): Promise<Date> {
    const { localTime } = await this.#db.command({ hello: 1 });
    return localTime;
  }
}

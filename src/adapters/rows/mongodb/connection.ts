/** The connection to the server. It connects when needed, and throws the port's errors when the server is away. */
import { MongoClient, MongoError, MongoServerError } from 'mongodb';
import { RowsUnavailableError } from '../../../ports/rowStore.js';
import type {
  CheckpointDocument,
  DefinitionDocument,
  LeasesDocument,
  StateDocument,
  TenantDocument,
} from './documents.js';

/** Where the URL has no path. */
const DEFAULT_DATABASE = 'dynamic_assets';
/** The server ends queries that the client could not cancel. A setting of the API ends lists sooner. */
export const LONGEST_QUERY_MS = 60_000;
const TIMEOUT_MS = 2_000;
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
  ignoreUndefined: true,
  // The heartbeats find a server that hangs, and end what waits for it: an index may take minutes.
  serverSelectionTimeoutMS: TIMEOUT_MS,
  connectTimeoutMS: TIMEOUT_MS,
  heartbeatFrequencyMS: TIMEOUT_MS,
  socketTimeoutMS: 0,
} as const;

/** Callers are told no more than that; operators, the cause. */
const away = (said: string, error?: Error): RowsUnavailableError =>
  new RowsUnavailableError('The rows cannot be reached.', { cause: new Error(said, { cause: error }) });

export class MongoConnection {
  readonly #client: MongoClient;
  readonly #database: Database;
  #awayUntil = 0;
  #isClosed = false;

  /** @param url `mongodb://127.0.0.1:27017/assets` @throws Error if it is not one */
  constructor(url: string) {
    this.#client = new MongoClient(url, OPTIONS);
    this.#database = databaseIn(this.#client, url);
  }

  /** @throws RowsUnavailableError when the server cannot be reached or does not answer; else what `work` throws */
  async run<Result>(work: (database: Database) => Promise<Result>): Promise<Result> {
    if (this.#isClosed) throw new RowsUnavailableError('The rows are closed.');
    if (performance.now() < this.#awayUntil) throw away('MongoDB cannot be reached.');
    try {
      await this.#client.connect();
      return await work(this.#database);
    } catch (error) {
      if (!(error instanceof Error && isPassing(error))) throw error;
      // A server that answers is there for the others.
      if (!(error instanceof MongoServerError)) this.#awayUntil = performance.now() + FAIL_FAST_MS;
      throw away(`MongoDB cannot be used now: ${error.message}`, error);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#client.close();
  }
}

/** All collections. `states` is the one that grows, and may be sharded by `s` and `i`. */
function databaseIn(client: MongoClient, url: string) {
  const db = client.db(databaseOf(url));
  return {
    states: db.collection<StateDocument>('rows'),
    tenants: db.collection<TenantDocument>('row_tenants'),
    definitions: db.collection<DefinitionDocument>('row_definitions'),
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

/** Unauthorized, AuthenticationFailed, and what Atlas says of both: an operator has to act. */
const LASTING_CODES: readonly unknown[] = [13, 18, 8_000];

/** The server may do the same later, or another one that takes over. Errors of sockets come without a class of the driver. */
const isPassing = (error: Error & { readonly code?: unknown }): boolean =>
  (error instanceof MongoError || typeof error.code === 'string') && !LASTING_CODES.includes(error.code);

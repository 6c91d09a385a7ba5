/** The connection to the server. It connects when needed, and throws the port's errors when the server is away. */
import { readFileSync } from 'node:fs';
import { MongoClient, type MongoClientOptions, MongoError, MongoNetworkError, MongoServerError } from 'mongodb';
import { type Checkpoint, RowsUnavailableError } from '../../../ports/rowStore.js';
import type { DefinitionDocument, StateDocument, TenantDocument } from './documents.js';

/** Where the URL has no path. */
const DEFAULT_DATABASE = 'dynamic_assets';
/** The server ends queries that the client could not cancel. A setting of the API ends lists sooner. */
export const LONGEST_QUERY_MS = 60_000;
const TIMEOUT_MS = 2_000;
/** After a failure all calls fail at once for so long, instead of waiting for the time-out again. */
const FAIL_FAST_MS = 500;

const OPTIONS: MongoClientOptions = {
  appName: 'dynamic-assets',
  // Whatever the URL says: a writer decides on what it reads, and an answered write is in the rows for good.
  readPreference: 'primary',
  readPreferenceTags: [],
  readConcernLevel: 'local',
  w: 'majority',
  wtimeoutMS: 0,
  journal: true,
  retryWrites: true,
  ignoreUndefined: true,
  // The heartbeats find a server that hangs, and end what waits for it: a clean-up or an index may take minutes.
  serverSelectionTimeoutMS: TIMEOUT_MS,
  connectTimeoutMS: TIMEOUT_MS,
  heartbeatFrequencyMS: TIMEOUT_MS,
  waitQueueTimeoutMS: TIMEOUT_MS,
  socketTimeoutMS: 0,
};

/** A client that has yet to connect. @throws Error if the URL cannot be used */
export function clientOf(url: string): MongoClient {
  try {
    const client = new MongoClient(url, OPTIONS);
    const { tlsCAFile, tlsCertificateKeyFile } = client.options;
    // The driver reads them when it connects, and that is tried again and again.
    for (const file of [tlsCAFile, tlsCertificateKeyFile]) if (file !== undefined) readFileSync(file);
    return client.setMaxListeners(0);
  } catch (error) {
    throw new Error(`MONGODB_URL is refused: ${error instanceof Error ? error.message : error}.`, { cause: error });
  }
}

/** Callers are told no more than that; operators, the cause. */
const away = (said: string, error?: Error): RowsUnavailableError =>
  new RowsUnavailableError('The rows cannot be reached.', { cause: new Error(said, { cause: error }) });

export class MongoConnection {
  #connecting: Promise<Database> | undefined;
  #awayUntil = 0;
  #isClosed = false;

  /** @param url `mongodb://127.0.0.1:27017/assets` @throws Error if it cannot be used, however often it is tried */
  constructor(private readonly url: string) {
    clientOf(url);
  }

  /** @throws RowsUnavailableError when the server cannot be reached or does not answer; else what `work` throws */
  async run<Result>(work: (database: Database) => Promise<Result>): Promise<Result> {
    if (this.#isClosed) throw new RowsUnavailableError('The rows are closed.');
    if (performance.now() < this.#awayUntil) throw away('MongoDB cannot be reached.');
    try {
      this.#connecting ??= this.#connect();
      const database = await this.#connecting;
      return await unlessLost(database.client, work(database));
    } catch (error) {
      if (!(error instanceof Error && isPassing(error))) throw error;
      // A server that answers is there for the others.
      if (!(error instanceof MongoServerError)) this.#awayUntil = performance.now() + FAIL_FAST_MS;
      throw away(`MongoDB cannot be used now: ${error.message}`, error);
    }
  }

  /** A client that has not connected is not used again. */
  async #connect(): Promise<Database> {
    const client = clientOf(this.url);
    try {
      await client.connect();
      return databaseIn(client, this.url);
    } catch (error) {
      this.#connecting = undefined;
      await client.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const database = await this.#connecting?.catch(() => undefined);
    await database?.client.close();
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
  const db = client.db(/^\w+(\+srv)?:\/\/[^/]+\/[^?]/.test(url) ? undefined : DEFAULT_DATABASE);
  return {
    client,
    states: db.collection<StateDocument>('rows'),
    tenants: db.collection<TenantDocument>('row_tenants'),
    definitions: db.collection<DefinitionDocument>('row_definitions'),
    /** Generations that are not needed any more. */
    garbage: db.collection<{ readonly _id: string; readonly tenant: string }>('row_garbage'),
    /** By share of tenants. */
    checkpoints: db.collection<Checkpoint & { readonly _id: number }>('row_checkpoints'),
    /** Processes that write, by name. `beats` goes up while one is alive. */
    writers: db.collection<{ readonly _id: string; readonly beats: number }>('row_writers'),
  };
}
export type Database = ReturnType<typeof databaseIn>;

/** Unauthorized, AuthenticationFailed, and what Atlas says of both: an operator has to act. */
const LASTING_CODES: readonly unknown[] = [13, 18, 8_000];

/** The server may do the same later, or another one that takes over. Errors of sockets come without a class of the driver. */
const isPassing = (error: Error & { readonly code?: unknown }): boolean =>
  (error instanceof MongoError || typeof error.code === 'string') && !LASTING_CODES.includes(error.code);

/** What the composition root gives the HTTP API, and the state that the API keeps while it runs. */

import type { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { SignedCheckpoint } from '../audit/checkpoints.js';
import type { EventProof, ProvedEvents, Unproved } from '../audit/proof.js';
import type { Application } from '../commands/application.js';
import type { TenantDirectory } from '../commands/context.js';
import type { AssetType } from '../domain/assetTypes/assetType.js';
import type { OrderModel } from '../domain/identity/events.js';
import type { Revision } from '../ports/eventStore.js';
import type { RowProgress } from '../ports/progress.js';
import type { RowReads } from '../ports/rowStore.js';
import type { Tracer } from '../ports/tracing.js';
import type { Queries } from '../queries/queries.js';
import type { Tally } from '../supervision/fairQueue.js';
import type { AllTurns, AnswersInFlight, ListLimits, TokenBuckets } from './admission.js';
import type { TokenService } from './auth/tokens.js';
import type { Refresh } from './directoryRefresh.js';
import type { ServiceMetrics } from './metrics.js';
import type { OperatorParts } from './operator/parts.js';
import type { TenantUsage } from './tenantUsage.js';

export type ApiConfig = {
  /** Version of the software. Two releases may show the same data differently. */
  readonly release: string;
  /** Tenants have host names below this one: `<tenant>.<baseHost>`. Lower case, no port. */
  readonly baseHost: string;
  /** Host name of the operator's console, in the same form. */
  readonly operatorHost: string;
  /** Tenant of a request whose host names none: a bare host, localhost, an IP address. */
  readonly defaultTenant?: string;
  /** Number of proxies in front that set X-Forwarded-For, -Host and -Proto; 0 ignores these headers. */
  readonly trustProxy: number;
  /** Origins whose pages may call the API from a browser. */
  readonly corsOrigins: readonly string[];
  /** Largest request body, in bytes after decompression. */
  readonly bodyLimitBytes: number;
  /**
   * Requests a second, and at once after a pause, for each caller. 0 a second means no limit. A tenant can have a lower
   * limit.
   */
  readonly rateLimit: { readonly perSecond: number; readonly burst: number };
  /** Requests in flight for one tenant, or for one network before authentication. */
  readonly requestsInFlight: number;
  /** Sessions that one user may open an hour. */
  readonly signInsPerHour: number;
  /** The token for /metrics; if unset, see `isLocalProgram`. */
  readonly metricsToken?: string;
  /** Time limit of a request, in milliseconds. */
  readonly requestTimeoutMs: number;
  /** How long an answer waits for the rows to show a write, in milliseconds. After that it is sent anyway. */
  readonly projectionWaitMs: number;
  readonly lists: ListLimits;
};

/** Whose operations an OpenAPI document has. */
export type Audience = 'clients' | 'people' | 'operators';

/** The subject of an OpenAPI document. */
export type Described = {
  /** Scheme and host of the service, as the request names them. */
  readonly origin: string;
  readonly title: string;
  readonly orderModel: OrderModel;
  readonly tables: readonly AssetType[];
};

export type ReadinessReport = {
  readonly ready: boolean;
  readonly checks: { readonly [name: string]: { readonly ok: boolean; readonly detail?: string } };
};

export type ApiDeps = {
  readonly commands: Application;
  readonly queries: Queries;
  /** How far the rows of tenants are. */
  readonly progress: RowProgress;
  /** The same as `queries`, and the states that rows had. */
  readonly rows: RowReads;
  readonly directory: TenantDirectory;
  readonly tokens: TokenService;
  readonly usage: TenantUsage;
  /** Bytes of the disk that the service writes to; `reserve` is 0 if it writes to none. */
  readonly disk: { readonly free: number; readonly reserve: number };
  readonly config: ApiConfig;
  readonly log: Logger;
  readonly metrics: ServiceMetrics;
  /** Undefined if tracing is off. */
  readonly tracer: Tracer | undefined;
  /** Undefined if the tree over the log is not ready. */
  readonly proveEvent: (eventId: string, tenant: string) => Promise<EventProof | Unproved | undefined>;
  /** What the tree over the log has for exports of orders; undefined answers: it is not ready. */
  readonly exportParts: {
    readonly checkpoint: () => Promise<SignedCheckpoint | 'none' | undefined>;
    /** Events of a stream as stored, with proofs that the checkpoint of this note covers them. */
    readonly prove: (stream: string, from: Revision, note: string | undefined) => Promise<ProvedEvents | undefined>;
  };
  /** @param isNamed whether the report may name tenants */
  readonly ready: (isNamed: boolean) => Promise<ReadinessReport>;
  /** What the operator's console shows of the whole installation. */
  readonly operator: OperatorParts;
  /** Why a URL cannot be a webhook's target, worded to follow "The url field"; undefined if it can. */
  readonly checkWebhookTarget: (url: string) => Promise<string | undefined>;
};

/** Given to checks and handlers: the dependencies, and state that outlives a request. */
export type Api = ApiDeps & {
  readonly refresh: Refresh;
  readonly answers: AnswersInFlight;
  readonly work: AllTurns;
  /** Requests that each client, user and network may still make, and sessions that each user may still open. */
  readonly buckets: TokenBuckets;
  /** Requests in flight, by tenant or network. */
  readonly inFlight: Tally;
  /** Pairs of account and network that have opened the account. */
  readonly opened: LRUCache<string, true>;
  /** Ids of links to the operator's console that were used in this process. */
  readonly operatorLinks: LRUCache<string, true>;
  /** An OpenAPI document and its tag. @throws HttpError 413 if it exceeds MAX_OPENAPI_BYTES */
  readonly openApi: (audience: Audience, subject: Described) => { readonly body: Uint8Array; readonly tag: string };
};

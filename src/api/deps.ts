/** What the HTTP API is given by the composition root, and what it keeps while it runs. */
import type { Logger } from 'pino';
import type { Commands, TenantDirectory } from '../commands/context.js';
import type { AssetType } from '../domain/assetTypes/assetType.js';
import type { OrderModel } from '../domain/identity/events.js';
import type { DeliveryLog } from '../ports/deliveryLog.js';
import type { ProjectionProgress, RecordQueries } from '../ports/readModels.js';
import type { Tracer } from '../ports/tracing.js';
import type { PendingWrites } from '../reading/pendingWrites.js';
import type { AnswersInFlight } from './answersInFlight.js';
import type { Guesses } from './auth/guesses.js';
import type { TokenService } from './auth/tokens.js';
import type { BodiesInWork } from './bodiesInWork.js';
import type { Compression } from './compression.js';
import type { Refresh } from './directoryRefresh.js';
import type { InFlight } from './inFlight.js';
import type { ListLimits, ListTurns } from './listTurns.js';
import type { ServiceMetrics } from './metrics.js';
import type { TokenBuckets } from './tokenBuckets.js';

export type ApiConfig = {
  /** Of the software: what it shows of the same data may differ from one to the next. */
  readonly release: string;
  /** Tenants live under this host: `<tenant>.<baseHost>`. Lower case, no port. */
  readonly baseHost: string;
  /** Tenant of a request that names no tenant: a bare host, localhost, an IP address. */
  readonly defaultTenant?: string;
  /** How many proxies in front set X-Forwarded-For, -Host and -Proto; 0 ignores these headers. */
  readonly trustProxy: number;
  /** Origins whose pages may call the API from a browser. */
  readonly corsOrigins: readonly string[];
  /** Largest request body, in bytes after decompression. */
  readonly bodyLimitBytes: number;
  /** Requests a second and after a pause that each caller may make; 0 a second means no limit. A tenant can have a lower one. */
  readonly rateLimit: { readonly perSecond: number; readonly burst: number };
  /** Requests that are answered at once for one tenant, or for one network before anybody is known. */
  readonly requestsInFlight: number;
  /** Sessions that one user may open in an hour. */
  readonly signInsPerHour: number;
  /** What /metrics must be asked with; where unset, see `isLocalProgram`. */
  readonly metricsToken?: string;
  /** Whether each request has a line in the log. */
  readonly accessLog: boolean;
  /** How long a request may take, in milliseconds. */
  readonly requestTimeoutMs: number;
  /** How long a write, or a read of what was written, waits for the read models before it is answered all the same, in milliseconds. */
  readonly projectionWaitMs: number;
  readonly lists: ListLimits;
};

/** What an OpenAPI document describes. */
export type Described = {
  readonly title: string;
  readonly orderModel: OrderModel;
  readonly tables: readonly AssetType[];
};

export type ReadinessReport = {
  readonly ready: boolean;
  readonly checks: { readonly [name: string]: { readonly ok: boolean; readonly detail?: string } };
};

export type ApiDeps = {
  readonly commands: Commands;
  readonly readModels: RecordQueries & DeliveryLog & Pick<ProjectionProgress, 'waitFor' | 'waitForEvent'>;
  /** How old what a read of the tenant has shown last may be, in whole seconds; 0 while it is current. */
  readonly staleness: (tenant: string) => number;
  /** Unset where other processes project, or read what this one writes: writes are answered when they are shown. */
  readonly unshown: PendingWrites | undefined;
  readonly directory: TenantDirectory;
  readonly tokens: TokenService;
  readonly config: ApiConfig;
  readonly log: Logger;
  readonly metrics: ServiceMetrics;
  /** Unset while no traces are made. */
  readonly tracer: Tracer | undefined;
  /** @param isNamed whether the report may tell who the tenants are */
  readonly ready: (isNamed: boolean) => Promise<ReadinessReport>;
  /** Why a URL cannot be a webhook's target, to be read after "The url field"; undefined when it can. */
  readonly checkWebhookTarget: (url: string) => Promise<string | undefined>;
};

/** What checks and handlers are given: the above, and state that lasts from one request to the next. */
export type Api = ApiDeps & {
  readonly refresh: Refresh;
  readonly lists: ListTurns;
  readonly answers: AnswersInFlight;
  readonly bodies: BodiesInWork;
  readonly compression: Compression;
  /** Requests that each client, user and network may still make, and sign-ins of each user. */
  readonly buckets: TokenBuckets;
  readonly inFlight: InFlight;
  readonly guesses: Guesses;
  /** An OpenAPI document as JSON text. @throws HttpError 413 when it is over MAX_OPENAPI_BYTES */
  readonly openApiText: (document: Described) => Promise<string>;
};

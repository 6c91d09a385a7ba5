/** What the composition root gives the HTTP API, and the state that the API keeps while it runs. */

import type { Tracer } from '@opentelemetry/api';
import type { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { SignedCheckpoint } from '../audit/checkpoints.js';
import type { EventProof, ProvedEvents, Unproved } from '../audit/proof.js';
import type { Application } from '../commands/application.js';
import type { Commands, TenantDirectory } from '../commands/context.js';
import type { Config } from '../config.js';
import type { Tables } from '../domain/identity/tenantTables.js';
import type { EventStore, Revision } from '../ports/eventStore.js';
import type { ParkedTenant, RowReads } from '../ports/rowStore.js';
import type { Jobs } from '../projections/jobs.js';
import type { Progress } from '../projections/progress.js';
import type { TenantUsage } from '../projections/tenantUsage.js';
import type { Tally } from '../supervision/fairQueue.js';
import type { AllTurns, ListLimits, TokenBuckets } from './admission.js';
import type { TokenService } from './auth/tokens.js';
import type { ServiceMetrics } from './metrics.js';

/** Whose operations an OpenAPI document has. */
export type Audience = 'clients' | 'people' | 'operators';

/** The subject of an OpenAPI document. */
export type Described = {
  /** Scheme and host of the service, as the request names them. */
  readonly origin: string;
  readonly title: string;
  readonly tables: Tables;
};

type ReadinessReport = {
  readonly ready: boolean;
  readonly checks: { readonly [name: string]: { readonly ok: boolean; readonly detail?: string } };
};

/** `directory`: nothing of the tenant is served. */
export type ParkedView = ParkedTenant & { readonly what: 'rows' | 'directory' };

/** What was looked at and, for each problem, a sentence that says what is wrong and one that says what to do. */
export type Checked = {
  readonly check: string;
  readonly detail: string;
  readonly findings: readonly { readonly problem: string; readonly remedy: string }[];
};

export type OperatorParts = {
  readonly jobs: Jobs;
  readonly eventStore: EventStore;
  /** Tenants with an event that could not be applied. */
  readonly parked: () => readonly ParkedView[];
  readonly checks: () => Promise<readonly Checked[]>;
};

/** What the tree over the log is asked, and what it answers. */
export type TreeQuestions = {
  proof: [question: { readonly eventId: string; readonly tenant: string }, answer: EventProof | Unproved];
  checkpoint: [question: object, answer: SignedCheckpoint];
  /** Events of a stream as stored, with proofs that the checkpoint of this note covers them. */
  stream: [question: { readonly stream: string; readonly from: Revision; readonly note: string }, answer: ProvedEvents];
};
export type TreeQuestion<Kind extends keyof TreeQuestions> = { readonly kind: Kind } & TreeQuestions[Kind][0];

export type ApiDeps = {
  readonly commands: Application;
  readonly queries: Commands['queries'];
  /** How far the rows of tenants are. */
  readonly progress: Progress;
  /** The same as `queries`, and the states that rows had. */
  readonly rows: RowReads;
  readonly directory: TenantDirectory;
  readonly tokens: TokenService;
  readonly usage: TenantUsage;
  /** Bytes of the disk that the service writes to; `reserve` is 0 if it writes to none. */
  readonly disk: { readonly free: number; readonly reserve: number };
  readonly config: Config;
  /** Version of the software. Two releases may show the same data differently. */
  readonly version: string;
  readonly lists: ListLimits;
  readonly log: Logger;
  readonly metrics: ServiceMetrics;
  /** Undefined if tracing is off. */
  readonly tracer: Tracer | undefined;
  /** Undefined: the tree over the log is not ready; ask again later. */
  readonly askTree: <Kind extends keyof TreeQuestions>(
    question: TreeQuestion<Kind>,
  ) => Promise<TreeQuestions[Kind][1] | undefined>;
  readonly ready: () => Promise<ReadinessReport>;
  /** What the operator's console shows of the whole installation. */
  readonly operator: OperatorParts;
  /** Why a URL cannot be a webhook's target, worded to follow "The url field"; undefined if it can. */
  readonly checkWebhookTarget: (url: string) => Promise<string | undefined>;
};

/** Given to checks and handlers: the dependencies, and state that outlives a request. */
export type Api = ApiDeps & {
  /** Bytes of answers that clients have not taken yet, by tenant. */
  readonly answers: Tally;
  readonly work: AllTurns;
  /** Requests that each client, user and network may still make, and sessions that each user may still open. */
  readonly buckets: TokenBuckets;
  /** Requests in flight, by tenant or network. */
  readonly inFlight: Tally;
  /** Pairs of account and network that have opened the account. */
  readonly opened: LRUCache<string, true>;
  /** What users have open, by tenant and user. In memory, so each process has its own. */
  readonly openOrders: LRUCache<string, { readonly order_id: string; readonly name: string }>;
  /** An OpenAPI document as JSON. @throws HttpError 413 if its tables exceed MAX_OPENAPI_BYTES */
  readonly openApi: (audience: Audience, subject: Described) => string;
};

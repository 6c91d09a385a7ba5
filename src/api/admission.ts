/**
 * What one tenant, client or network may use of the service: a rate of requests, requests in flight, large bodies, lists
 * that run at once, and answers that wait to be taken. None of them may take all of it.
 */
import type { Request, Response } from 'express';
import { LRUCache } from 'lru-cache';
import { Gauge, type Registry } from 'prom-client';
import type { RateLimit } from '../domain/identity/events.js';
import {
  COSTLY_READS_AT_ONCE,
  COSTLY_READS_OF_TENANT,
  LARGE_WRITE_BYTES,
  LARGE_WRITES_AT_ONCE,
  LARGE_WRITES_OF_TENANT,
  MAX_ANSWER_BYTES_IN_FLIGHT,
  MAX_ANSWER_MS,
  MAX_BODY_BYTES_IN_WORK,
  MAX_TENANT_ANSWER_BYTES_IN_FLIGHT,
  MAX_TENANT_BODY_BYTES_IN_WORK,
  MAX_WAITING_BODIES,
  MAX_WAITING_COSTLY_WORK,
  MAX_WAITING_LISTS,
} from '../domain/limits.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { Deadline } from '../supervision/deadline.js';
import { FairQueue, type QueueCounts, Tally, TooManyWaitingError } from '../supervision/fairQueue.js';
import { clientHasLeft, type HttpError, TOOK_TOO_LONG, tooManyRequests, tryLater } from './errors.js';
import { hasBody } from './jsonBody.js';
import type { RequestContext } from './requestContext.js';

/** Beyond this many, the buckets that were idle longest are dropped. */
const KNOWN_BUCKETS = 50_000;

type Bucket = { tokens: number; filledAt: number };

/** Token buckets for rate limits. One refills `perSecond` tokens a second up to `burst`. */
export class TokenBuckets {
  readonly #buckets = new LRUCache<string, Bucket>({ max: KNOWN_BUCKETS });

  /**
   * Takes a token if there is one.
   * @returns whole tokens left, and seconds until the next one, rounded up; 0 if there is one
   */
  take(key: string, { perSecond, burst }: RateLimit) {
    const now = performance.now();
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      bucket = { tokens: burst, filledAt: now };
      this.#buckets.set(key, bucket);
    }
    const filled = Math.min(burst, bucket.tokens + ((now - bucket.filledAt) / 1000) * perSecond);
    const isTaken = filled >= 1;
    const rest = isTaken ? filled - 1 : filled;
    bucket.tokens = rest;
    bucket.filledAt = now;
    return { isTaken, left: Math.floor(rest), secondsToNext: Math.max(0, Math.ceil((1 - rest) / perSecond)) };
  }
}

/** Requests in flight, by tenant or network. */
export class InFlight {
  readonly #requests = new Tally();

  /** Counts one more. @returns a function that ends it; undefined if there are `most` already */
  enter(key: string, most: number): (() => void) | undefined {
    if (this.#requests.of(key) >= most) return undefined;
    this.#requests.add(key, 1);
    return () => this.#requests.add(key, -1);
  }
}

type Waiting = { readonly tenant: string; readonly bytes: number; readonly enter: () => void };

/** Smaller bodies are not counted: even one for each connection is no burden. */
const SMALL_BYTES = 65_536;

/**
 * Large bodies that are read and processed at once: each takes several times its size in memory. When a tenant has enough
 * of them in progress, its next ones wait unread without delaying other tenants.
 */
export class BodiesInWork {
  readonly #bytes = new Tally();
  readonly #waiting = new Set<Waiting>();

  /**
   * Resolves when the body may be read.
   * @param limitBytes counted for a body of unknown size
   * @returns a function to call when the request is done
   * @throws HttpError 429 if too many wait, 503 if the request's deadline passes first
   */
  async enter(tenant: string, req: Request, res: Response, limitBytes: number): Promise<() => void> {
    const bytes = Math.min(sizeOf(req) ?? limitBytes, limitBytes);
    if (bytes <= SMALL_BYTES) return () => {};
    if (this.#hasRoom(tenant, bytes)) this.#bytes.add(tenant, bytes);
    else await this.#wait(tenant, bytes, req, res);
    return () => this.#leave(tenant, bytes);
  }

  /** A tenant without a body in progress always has room. */
  #hasRoom(tenant: string, bytes: number): boolean {
    const own = this.#bytes.of(tenant);
    if (own === 0) return true;
    return own + bytes <= MAX_TENANT_BODY_BYTES_IN_WORK && this.#bytes.total + bytes <= MAX_BODY_BYTES_IN_WORK;
  }

  #wait(tenant: string, bytes: number, { context: { deadline } }: Request, res: Response): Promise<void> {
    const waitingOfTenant = [...this.#waiting].filter((each) => each.tenant === tenant).length;
    if (waitingOfTenant >= MAX_WAITING_BODIES) throw tooManyBodies();
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => (): void => {
        this.#waiting.delete(waiting);
        forget();
        res.off('close', left);
        settle();
      };
      const waiting: Waiting = { tenant, bytes, enter: end(resolve) };
      const left = end(() => reject(tooManyBodies()));
      const forget = deadline.onCancel(end(() => reject(waitedTooLong())));
      res.once('close', left);
      this.#waiting.add(waiting);
    });
  }

  #leave(tenant: string, bytes: number): void {
    this.#bytes.add(tenant, -bytes);
    for (const waiting of [...this.#waiting]) {
      if (!this.#hasRoom(waiting.tenant, waiting.bytes)) continue;
      this.#bytes.add(waiting.tenant, waiting.bytes);
      waiting.enter();
    }
  }
}

const TOO_MANY_BODIES = 'Too many large bodies of this tenant are in work; send fewer at once.';
const tooManyBodies = (): HttpError => tooManyRequests(TOO_MANY_BODIES, 1);
const waitedTooLong = (): HttpError => tryLater(TOOK_TOO_LONG, TOO_MANY_BODIES);

/** Size of the body after decoding; undefined if it is only known after reading. */
function sizeOf({ headers }: Request): number | undefined {
  const encoding = headers['content-encoding'] ?? 'identity';
  const length = headers['content-length'];
  return length === undefined || encoding.toLowerCase() !== 'identity' ? undefined : Number(length);
}

/** Whether the request has a body that costs time and memory; one of unknown size may be large. */
export const hasLargeBody = (req: Request): boolean =>
  hasBody(req) && (sizeOf(req) ?? Number.POSITIVE_INFINITY) > LARGE_WRITE_BYTES;

/**
 * `document`: an order with its parts and all the records that they name. `events`: a page made of the events of a table or
 * an order. `undo`: of an operation or a sync session. `largeWrite`: a write with a large body, or of many records.
 * `operator`: what an operator looks at, which may wait for an engine that is away.
 */
export type WorkKind = 'document' | 'events' | 'undo' | 'largeWrite' | 'operator';

/** Costly work runs in turns, a queue for each kind. A turn lasts until the work ends, even if its client has left. */
export class CostlyWork {
  readonly #queues: { readonly [kind in WorkKind]: FairQueue } = {
    document: queueOf(COSTLY_READS_AT_ONCE, COSTLY_READS_OF_TENANT),
    events: queueOf(COSTLY_READS_AT_ONCE, COSTLY_READS_OF_TENANT),
    undo: queueOf(COSTLY_READS_AT_ONCE, COSTLY_READS_OF_TENANT),
    largeWrite: queueOf(LARGE_WRITES_AT_ONCE, LARGE_WRITES_OF_TENANT),
    operator: queueOf(COSTLY_READS_AT_ONCE, COSTLY_READS_AT_ONCE),
  };

  get counts(): { readonly [kind in WorkKind]: QueueCounts } {
    return this.#queues;
  }

  /**
   * Tenants take turns, and the callers of a tenant.
   * @throws HttpError 429 if too much work of the tenant waits; the reason of the request's cancellation; errors of `work`
   */
  async run<Result>(
    kind: WorkKind,
    { tenantName = '', actor, deadline }: RequestContext,
    work: () => Promise<Result>,
  ): Promise<Result> {
    try {
      return await this.#queues[kind].run(tenantName, work, deadline, actor.id);
    } catch (error) {
      throw error instanceof TooManyWaitingError ? tooMuchWork() : error;
    }
  }
}

/** Shows on /metrics what work is in progress and what waits for its turn. */
export function showWork(registry: Registry, lists: ListTurns, work: CostlyWork): void {
  new Gauge({
    name: 'costly_work',
    help: 'Costly requests of all tenants, by kind: those that run, and those that wait for their turn.',
    labelNames: ['kind', 'state'],
    registers: [registry],
    collect() {
      for (const [kind, { running, waiting }] of Object.entries({ list: lists.counts, ...work.counts })) {
        this.set({ kind, state: 'running' }, running);
        this.set({ kind, state: 'waiting' }, waiting);
      }
    },
  });
}

/** Milliseconds of one turn of the event loop in which requests begin at once. */
const BEGUN_AT_ONCE_MS = 3;

/**
 * Requests begin at once while the event loop has time, and otherwise one in each turn of it: hundreds that arrive together
 * would hold it for a few milliseconds each. Tenants take turns.
 */
export class RequestStarts {
  readonly #queue = new FairQueue({ atOnce: 1, waitingOfGroup: Number.POSITIVE_INFINITY });
  #turnBeganAt: number | undefined;

  /** @returns undefined if the request begins at once @throws the reason of the request's cancellation */
  wait({ tenantName = '', deadline }: RequestContext): Promise<void> | undefined {
    if (this.#queue.running === 0 && this.#hasTime()) return undefined;
    return this.#queue.run(tenantName, () => new Promise((resolve) => setImmediate(resolve)), deadline);
  }

  #hasTime(): boolean {
    const now = performance.now();
    if (this.#turnBeganAt === undefined) {
      this.#turnBeganAt = now;
      setImmediate(() => {
        this.#turnBeganAt = undefined;
      });
    }
    return now - this.#turnBeganAt < BEGUN_AT_ONCE_MS;
  }
}

const queueOf = (atOnce: number, ofGroup: number): FairQueue =>
  new FairQueue({ atOnce, ofGroup, waitingOfGroup: MAX_WAITING_COSTLY_WORK });

const tooMuchWork = (): HttpError =>
  tooManyRequests(`${MAX_WAITING_COSTLY_WORK} such requests of this tenant wait already.`, 1);

export type ListLimits = {
  /** Lists that run at once. */
  readonly atOnce: number;
  /** Lists of one tenant that run at once; fewer than `atOnce`. */
  readonly ofOneTenant: number;
  /** Time limit including the wait; never more than the request has left. */
  readonly timeoutMs: number;
};

export type List<Result> = {
  readonly tenant: string;
  /** The list is cancelled at the request's deadline, or when its client disconnects. */
  readonly context: Pick<RequestContext, 'deadline' | 'atEnd'>;
  /** What to ask for instead, for a list that takes too long. */
  readonly advice: () => string;
  /** Must reject soon after its cancellation. */
  readonly find: (cancellation: Cancellation) => Promise<Result>;
};

/**
 * Lists run in turns, since one may be expensive and must not delay other tenants. Waiting tenants are served round-robin,
 * none may take all turns, and a list is cancelled when it takes too long or its client disconnects.
 */
export class ListTurns {
  readonly #timeoutMs: number;
  readonly #turns: FairQueue;

  constructor({ atOnce, ofOneTenant, timeoutMs }: ListLimits) {
    this.#timeoutMs = timeoutMs;
    this.#turns = new FairQueue({ atOnce, ofGroup: ofOneTenant, waitingOfGroup: MAX_WAITING_LISTS });
  }

  get counts(): QueueCounts {
    return this.#turns;
  }

  /** @throws HttpError 429 if too many lists of the tenant wait, 503 at the time limit; errors of `find` */
  async run<Result>({ tenant, context, advice, find }: List<Result>): Promise<Result> {
    const timeoutMs = Math.min(this.#timeoutMs, context.deadline.leftMs);
    const deadline = new Deadline(timeoutMs, () => tookTooLong(timeoutMs, advice()));
    let isFound = false;
    context.atEnd(() => {
      if (!isFound) deadline.cancel(clientHasLeft());
    });
    try {
      return await this.#turns.run(tenant, () => find(deadline), deadline);
    } catch (error) {
      throw deadline.reason ?? (error instanceof TooManyWaitingError ? tooManyLists() : error);
    } finally {
      isFound = true;
      deadline.end();
    }
  }
}

const tooManyLists = (): HttpError => tooManyRequests(`${MAX_WAITING_LISTS} lists of this tenant wait already.`, 1);

const tookTooLong = (timeoutMs: number, advice: string): HttpError => {
  const seconds = Math.round(timeoutMs / 10) / 100;
  return tryLater('The list took too long.', `It was given up after ${seconds} s. ${advice}`);
};

/** Answers wait in memory until their clients have taken them: limits the bytes that slow clients can hold. */
export class AnswersInFlight {
  readonly #bytes = new Tally();

  /**
   * Whether one more answer may be made for this tenant. Over the service's limit, only tenants without a waiting
   * answer may.
   */
  hasRoom(tenant: string): boolean {
    const own = this.#bytes.of(tenant);
    return own === 0 || (own < MAX_TENANT_ANSWER_BYTES_IN_FLIGHT && this.#bytes.total < MAX_ANSWER_BYTES_IN_FLIGHT);
  }

  /**
   * Counts these bytes until the client has taken its answer or disconnected. A client that takes too long is cut off.
   * @param bytes 0 if the connection took the whole answer at once, as is usual
   */
  add(tenant: string, bytes: number, res: Response): void {
    if (bytes === 0 || res.closed) return;
    this.#bytes.add(tenant, bytes);
    const cut = setTimeout(() => res.destroy(), MAX_ANSWER_MS).unref();
    res.once('close', () => {
      clearTimeout(cut);
      this.#bytes.add(tenant, -bytes);
    });
  }
}

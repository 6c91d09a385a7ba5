/**
 * What one tenant, client or network may use of the service: a rate of requests, requests in flight, large bodies, lists
 * that run at once, and answers that wait to be taken. None of them may take all of it.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Request, Response } from 'express';
import { LRUCache } from 'lru-cache';
import { Gauge, type Registry } from 'prom-client';
import type { RateLimit } from '../domain/identity/events.js';
import {
  COSTLY_READS_AT_ONCE,
  COSTLY_READS_OF_TENANT,
  LARGE_BODIES_AT_ONCE,
  LARGE_BODIES_OF_TENANT,
  LARGE_WRITE_BYTES,
  LARGE_WRITES_AT_ONCE,
  LARGE_WRITES_OF_TENANT,
  MAX_ANSWER_BYTES_IN_FLIGHT,
  MAX_ANSWER_MS,
  MAX_TENANT_ANSWER_BYTES_IN_FLIGHT,
  MAX_WAITING_OF_TENANT,
} from '../domain/limits.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { Deadline } from '../supervision/deadline.js';
import { FairQueue, type QueueCounts, Tally, TooManyWaitingError } from '../supervision/fairQueue.js';
import { clientHasLeft, type HttpError, tooManyRequests, tryLater } from './errors.js';
import { hasBody } from './jsonBody.js';
import type { RequestContext } from './requestContext.js';

/** Beyond this many, the buckets that were idle longest are dropped. */
const KNOWN_BUCKETS = 50_000;

type Bucket = { tokens: number; filledAt: number };

/** Token buckets. One refills `perSecond` tokens a second up to `burst`. */
export class TokenBuckets {
  readonly #buckets = new LRUCache<string, Bucket>({ max: KNOWN_BUCKETS });
  readonly #now: () => number;

  /** @param now monotonic clock, in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Takes a token if there is one.
   * @returns whole tokens left, and seconds until the next one, rounded up; 0 if there is one
   */
  take(key: string, { perSecond, burst }: RateLimit) {
    const now = this.#now();
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

  /** Gives a token back. */
  giveBack(key: string): void {
    const bucket = this.#buckets.get(key);
    if (bucket !== undefined) bucket.tokens += 1;
  }

  fill(key: string): void {
    this.#buckets.delete(key);
  }
}

/** Whether the request has a body that costs time and memory; one of unknown size may be large. */
export const hasLargeBody = (req: Request): boolean =>
  hasBody(req) && (sizeOf(req) ?? Number.POSITIVE_INFINITY) > LARGE_WRITE_BYTES;

/** Size of the body after decoding; undefined if it is only known after reading. */
function sizeOf({ headers }: Request): number | undefined {
  const encoding = headers['content-encoding'] ?? 'identity';
  const length = headers['content-length'];
  return length === undefined || encoding.toLowerCase() !== 'identity' ? undefined : Number(length);
}

type TurnLimits = {
  readonly atOnce: number;
  readonly ofTenant: number;
  /** Of `atOnce`, for tenants that have none at work. */
  readonly reserved?: number;
  /** Names them in the refusal. */
  readonly what: string;
};

/**
 * Work of one kind takes turns: tenants do, and the callers of a tenant. A turn lasts until the work ends, even if its client
 * has left.
 */
export class Turns {
  readonly #queue: FairQueue;
  readonly #what: string;

  constructor({ atOnce, ofTenant, reserved = 0, what }: TurnLimits) {
    this.#queue = new FairQueue({ atOnce, ofGroup: ofTenant, reserved, waitingOfGroup: MAX_WAITING_OF_TENANT });
    this.#what = what;
  }

  get counts(): QueueCounts {
    return this.#queue;
  }

  /**
   * @param cancellation ends the wait
   * @returns a function to call once, at the end of the work
   * @throws HttpError 429 if too much of the tenant waits; the cancellation's reason
   */
  async enter({ tenantName = '', actor }: RequestContext, cancellation: Cancellation): Promise<() => void> {
    try {
      const leave = await this.#queue.enter(tenantName, cancellation, actor.id);
      // Work that waits for nothing would follow other such work in one turn of the event loop.
      await nextTurn();
      return leave;
    } catch (error) {
      if (!(error instanceof TooManyWaitingError)) throw error;
      throw tooManyRequests(`${MAX_WAITING_OF_TENANT} ${this.#what} of this tenant wait already.`, 1);
    }
  }

  /** @throws as `enter`; errors of `work` */
  async run<Result>(context: RequestContext, work: () => Promise<Result>): Promise<Result> {
    const leave = await this.enter(context, context.deadline);
    try {
      return await work();
    } finally {
      leave();
    }
  }
}

/**
 * `costly`: documents of orders, pages made of versions or of a stream, undos, what an operator looks at. `largeWrite`: a write
 * with a large body, or of many records. `moment`: finding a moment of the past, which costly work asks for in its turn, so it
 * has turns of its own.
 */
export type WorkKind = 'costly' | 'moment' | 'largeWrite';

export const turnsOfWork = (): { readonly [kind in WorkKind]: Turns } => ({
  costly: new Turns({ atOnce: COSTLY_READS_AT_ONCE, ofTenant: COSTLY_READS_OF_TENANT, what: 'such requests' }),
  moment: new Turns({ atOnce: COSTLY_READS_AT_ONCE, ofTenant: COSTLY_READS_OF_TENANT, what: 'such requests' }),
  largeWrite: new Turns({ atOnce: LARGE_WRITES_AT_ONCE, ofTenant: LARGE_WRITES_OF_TENANT, what: 'such requests' }),
});

/**
 * Large bodies that are read and processed at once: each takes several times its size in memory. Slow uploads of some tenants
 * leave room for a first one of each other tenant.
 */
export const turnsOfBodies = (): Turns =>
  new Turns({
    atOnce: LARGE_BODIES_AT_ONCE,
    reserved: LARGE_BODIES_AT_ONCE - LARGE_BODIES_OF_TENANT,
    ofTenant: LARGE_BODIES_OF_TENANT,
    what: 'large bodies',
  });

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
    return this.#queue.run(tenantName, nextTurn, deadline);
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

/** Shows on /metrics what work is in progress and what waits for its turn. */
export function showWork(
  registry: Registry,
  turns: { readonly [kind: string]: { readonly counts: QueueCounts } },
): void {
  new Gauge({
    name: 'costly_work',
    help: 'Costly requests of all tenants, by kind: those that run, and those that wait for their turn.',
    labelNames: ['kind', 'state'],
    registers: [registry],
    collect() {
      for (const [kind, { counts }] of Object.entries(turns)) {
        this.set({ kind, state: 'running' }, counts.running);
        this.set({ kind, state: 'waiting' }, counts.waiting);
      }
    },
  });
}

export type ListLimits = {
  /** Lists that run at once. */
  readonly atOnce: number;
  /** Lists of one tenant that run at once; fewer than `atOnce`. */
  readonly ofOneTenant: number;
  /** Time limit including the wait; never more than the request has left. */
  readonly timeoutMs: number;
};

export type List<Result> = {
  /** The list is cancelled at the request's deadline, or when its client disconnects. */
  readonly context: RequestContext;
  /** What to ask for instead, for a list that takes too long. */
  readonly advice: () => string;
  /** Must reject soon after its cancellation. */
  readonly find: (cancellation: Cancellation) => Promise<Result>;
};

/** Lists take turns, since one may be expensive, and each has a time of its own. */
export class ListTurns {
  readonly #timeoutMs: number;
  readonly #turns: Turns;

  constructor({ atOnce, ofOneTenant, timeoutMs }: ListLimits) {
    this.#timeoutMs = timeoutMs;
    this.#turns = new Turns({ atOnce, ofTenant: ofOneTenant, what: 'lists' });
  }

  get counts(): QueueCounts {
    return this.#turns.counts;
  }

  /** @throws HttpError 429 if too many lists of the tenant wait, 503 at the time limit; errors of `find` */
  async run<Result>({ context, advice, find }: List<Result>): Promise<Result> {
    const timeoutMs = Math.min(this.#timeoutMs, context.deadline.leftMs);
    const deadline = new Deadline(timeoutMs, () => tookTooLong(timeoutMs, advice()));
    const forget = context.deadline.onCancel(() => deadline.cancel(context.deadline.reason ?? clientHasLeft()));
    let leave = () => {};
    try {
      leave = await this.#turns.enter(context, deadline);
      return await find(deadline);
    } catch (error) {
      throw deadline.reason ?? error;
    } finally {
      leave();
      forget();
      deadline.end();
    }
  }
}

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

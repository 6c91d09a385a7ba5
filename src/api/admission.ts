/**
 * What one tenant may use of the service at once: lists, costly requests, large bodies and writes, and answers that wait to be
 * taken. No tenant may take all of it.
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
import { clientHasLeft, tooManyRequests, tryLater } from './errors.js';
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
export function hasLargeBody(req: Request): boolean {
  const { 'content-encoding': coding = 'identity', 'content-length': length } = req.headers;
  return hasBody(req) && (coding !== 'identity' || length === undefined || Number(length) > LARGE_WRITE_BYTES);
}

type TurnLimits = {
  readonly atOnce: number;
  readonly ofTenant: number;
  /** Of `atOnce`, for tenants that have none at work. */
  readonly reserved?: number;
  /** Time limit of the work including the wait, never more than the request has left. */
  readonly timeoutMs?: number;
};

/**
 * Work of one kind takes turns: tenants do, and the callers of a tenant. A turn lasts until the work ends, even if its client
 * has left.
 */
export class Turns {
  readonly #queue: FairQueue;
  readonly #timeoutMs: number | undefined;

  constructor({ atOnce, ofTenant, reserved = 0, timeoutMs }: TurnLimits) {
    this.#queue = new FairQueue({ atOnce, ofGroup: ofTenant, reserved, waitingOfGroup: MAX_WAITING_OF_TENANT });
    this.#timeoutMs = timeoutMs;
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
      throw tooManyRequests(`${MAX_WAITING_OF_TENANT} such requests of this tenant wait already.`, 1);
    }
  }

  /**
   * @param work is told to end by the cancellation
   * @throws as `enter`; HttpError 503 at the time limit; errors of `work`
   */
  async run<Result>(context: RequestContext, work: (cancellation: Cancellation) => Promise<Result>): Promise<Result> {
    const { deadline } = context;
    if (this.#timeoutMs === undefined) return this.#run(context, deadline, work);
    const timeoutMs = Math.min(this.#timeoutMs, deadline.leftMs);
    const own = new Deadline(timeoutMs, () => tookTooLong(timeoutMs));
    const forget = deadline.onCancel(() => own.cancel(deadline.reason ?? clientHasLeft()));
    try {
      return await this.#run(context, own, work);
    } catch (error) {
      throw own.reason ?? error;
    } finally {
      forget();
      own.end();
    }
  }

  async #run<Result>(
    context: RequestContext,
    cancellation: Cancellation,
    work: (cancellation: Cancellation) => Promise<Result>,
  ): Promise<Result> {
    const leave = await this.enter(context, cancellation);
    try {
      return await work(cancellation);
    } finally {
      leave();
    }
  }
}

const tookTooLong = (timeoutMs: number) =>
  tryLater(
    'The list took too long.',
    `It was given up after ${Math.round(timeoutMs / 10) / 100} s. Filter by values of three or more characters, or ask for less at once.`,
  );

/** `ofOneTenant`: fewer than `atOnce`. */
export type ListLimits = { readonly atOnce: number; readonly ofOneTenant: number; readonly timeoutMs: number };

/**
 * `list`: rows and versions that are searched. `costly`: documents and replays of orders, undos, what an operator looks at.
 * `largeWrite`: a write with a large body, or of many records. `body`: large bodies that are read and processed, each of which
 * takes several times its size in memory; slow uploads of some tenants leave room for a first one of each other tenant.
 */
export type WorkKind = 'list' | 'costly' | 'largeWrite';
export type AllTurns = { readonly [kind in WorkKind | 'body']: Turns };

export const turnsOf = ({ atOnce, ofOneTenant, timeoutMs }: ListLimits): AllTurns => ({
  list: new Turns({ atOnce, ofTenant: ofOneTenant, timeoutMs }),
  costly: new Turns({ atOnce: COSTLY_READS_AT_ONCE, ofTenant: COSTLY_READS_OF_TENANT }),
  largeWrite: new Turns({ atOnce: LARGE_WRITES_AT_ONCE, ofTenant: LARGE_WRITES_OF_TENANT }),
  body: new Turns({
    atOnce: LARGE_BODIES_AT_ONCE,
    reserved: LARGE_BODIES_AT_ONCE - LARGE_BODIES_OF_TENANT,
    ofTenant: LARGE_BODIES_OF_TENANT,
  }),
});

/** Shows on /metrics what work is in progress and what waits for its turn. */
export function showWork(registry: Registry, turns: AllTurns): void {
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

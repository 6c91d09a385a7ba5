/**
 * What one tenant may use of the service at once: lists, costly requests, large writes, and answers that wait to be taken. No
 * tenant may take all of it.
 */
import type { ServerResponse } from 'node:http';
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import type { Registry } from 'prom-client';
import type { RateLimit } from '../domain/identity/events.js';
import { MAX_TENANT_ANSWER_BYTES_IN_FLIGHT, MAX_WAITING_OF_TENANT } from '../domain/limits.js';
import { FairQueue, type Tally } from '../supervision/fairQueue.js';
import { registerGauges, type Values } from '../supervision/gauges.js';
import { hasBody } from './jsonBody.js';

/** Bytes of a body from which a write is large. */
const LARGE_WRITE_BYTES = 16_384;
const COSTLY_READS = { atOnce: 4, ofGroup: 2 };
/** Some tenants leave room for a first large write of each other tenant. */
const LARGE_WRITES = { atOnce: 12, ofGroup: 4, reserved: 8 };
/** Beyond it, only tenants with nothing in flight are answered. */
const MAX_ANSWER_BYTES_IN_FLIGHT = 4 * MAX_TENANT_ANSWER_BYTES_IN_FLIGHT;
const MAX_ANSWER_MS = 120_000;
/** Beyond this many, the buckets that were idle longest are dropped. */
const KNOWN_BUCKETS = 50_000;

type Bucket = { tokens: number; filledAt: number };

/** Token buckets. One refills `perSecond` tokens a second up to `burst`. */
export class TokenBuckets {
  readonly #buckets = new LRUCache<string, Bucket>({ max: KNOWN_BUCKETS });

  /** @param now monotonic clock, in milliseconds */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /**
   * Takes a token if there is one.
   * @returns whole tokens left, and seconds until the next one, rounded up; 0 if there is one
   */
  take(key: string, { perSecond, burst }: RateLimit) {
    const now = this.now();
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

/** Lists in work of one tenant; all tenants have more. */
export type ListLimits = { readonly atOnce: number; readonly ofGroup: number };

/**
 * `list`: rows and versions that are searched. `costly`: documents and replays of orders, undos, what an operator looks at.
 * `largeWrite`: a write of many records, or with a large body, from the arrival of the body, which takes several times its size
 * in memory: slow uploads of some tenants leave room for a first one of each other tenant.
 */
export type WorkKind = 'list' | 'costly' | 'largeWrite';

/** Tenants take turns. A turn lasts until the work ends, even if its client has left. */
export type AllTurns = { readonly [kind in WorkKind]: FairQueue };

export function turnsOf(lists: ListLimits): AllTurns {
  const waitingOfGroup = MAX_WAITING_OF_TENANT;
  return {
    list: new FairQueue({ ...lists, waitingOfGroup }),
    costly: new FairQueue({ ...COSTLY_READS, waitingOfGroup }),
    largeWrite: new FairQueue({ ...LARGE_WRITES, waitingOfGroup }),
  };
}

/** Shows on /metrics what work is in progress and what waits for its turn. */
export function showWork(registry: Registry, turns: AllTurns): void {
  const help = 'Costly requests of all tenants, by kind: those that run, and those that wait for their turn.';
  const states = (): Values =>
    Object.entries(turns).flatMap(([kind, { running, waiting }]) => [
      [{ kind, state: 'running' }, running],
      [{ kind, state: 'waiting' }, waiting],
    ]);
  registerGauges(registry, { costly_work: [help, states, 'kind', 'state'] });
}

/**
 * Whether one more answer may be made for this tenant: answers wait in memory until their clients have taken them. Over the
 * service's limit, only tenants without a waiting answer may.
 */
export function hasRoom(waiting: Tally, tenant: string): boolean {
  const own = waiting.of(tenant);
  return own === 0 || (own < MAX_TENANT_ANSWER_BYTES_IN_FLIGHT && waiting.total < MAX_ANSWER_BYTES_IN_FLIGHT);
}

/**
 * Counts these bytes until the client has taken its answer or disconnected. A client that takes too long is cut off.
 * @param bytes 0 if the connection took the whole answer at once, as is usual
 */
export function countWaiting(waiting: Tally, tenant: string, bytes: number, res: ServerResponse): void {
  if (bytes === 0 || res.closed) return;
  waiting.add(tenant, bytes);
  const cut = setTimeout(() => res.destroy(), MAX_ANSWER_MS).unref();
  res.once('close', () => {
    clearTimeout(cut);
    waiting.add(tenant, -bytes);
  });
}

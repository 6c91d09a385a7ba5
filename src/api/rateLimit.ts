/**
 * Limits for each caller (spec §8): requests a second, reported in RateLimit fields
 * (draft-ietf-httpapi-ratelimit-headers), requests in flight, and guesses of passwords and client secrets.
 */
import type { Request } from 'express';
import { tagOf } from '../commands/preconditions.js';
import type { Config } from '../config.js';
import type { RateLimit } from '../domain/identity/events.js';
import {
  GUESSES_OF_ACCOUNT,
  GUESSES_OF_NETWORK,
  GUESSES_OF_PASSWORD,
  GUESSES_OF_SECRET,
  MAX_REQUESTS_IN_FLIGHT,
} from '../domain/limits.js';
import type { Api } from './deps.js';
import { HttpError, tooManyRequests } from './errors.js';
import type { Check } from './routes/operation.js';
import { networkOfRequest } from './senderAddress.js';

/** The operator's limit is a ceiling: a tenant's own can only be lower. */
export function limitOf({ RATE_LIMIT_PER_SECOND: most }: Config, ofTenant?: RateLimit): RateLimit {
  const { perSecond = most, burst = 2 * most } = ofTenant ?? {};
  return { perSecond: Math.min(most, perSecond), burst: Math.min(2 * most, burst) };
}

/** After authentication. Each client and each user has a bucket; requests in flight are counted for the tenant. */
export const limitCaller: Check = (api, req, res) => {
  const { tenant, actor } = req.context;
  enter(api, req, tenant.name);
  const limit = limitOf(api.config, tenant.rateLimit);
  const { isTaken, left, secondsToNext } = api.buckets.take(`${tenant.name} ${actor.kind} ${actor.id}`, limit);
  const windowSeconds = Math.max(1, Math.ceil(limit.burst / limit.perSecond));
  res.setHeader('RateLimit-Policy', `"client";q=${limit.burst};w=${windowSeconds}`);
  res.setHeader('RateLimit', `"client";r=${left};t=${secondsToNext}`);
  if (!isTaken) throw overLimit(limit, secondsToNext);
};

/** Before authentication. Each network has a bucket and its own count of requests in flight. */
export const limitNetwork: Check = (api, req) => {
  enter(api, req, ` ${networkOfRequest(req)}`);
  takeOfNetwork(api, req);
};

/** A check whose 401 answers use up the network's bucket: verifying tokens costs more than most answers. */
export const countingRefusals =
  (check: Check): Check =>
  async (api, req, res) => {
    try {
      await check(api, req, res);
    } catch (error) {
      if (error instanceof HttpError && error.status === 401) takeOfNetwork(api, req);
      throw error;
    }
  };

function takeOfNetwork({ config, buckets }: Api, req: Request): void {
  const limit = limitOf(config);
  const { isTaken, secondsToNext } = buckets.take(` ${networkOfRequest(req)}`, limit);
  if (!isTaken) throw overLimit(limit, secondsToNext);
}

const overLimit = ({ perSecond, burst }: RateLimit, seconds: number): HttpError =>
  tooManyRequests(`At most ${perSecond} requests a second, ${burst} at once.`, seconds);

function enter({ inFlight }: Api, req: Request, key: string): void {
  if (inFlight.of(key) >= MAX_REQUESTS_IN_FLIGHT)
    throw tooManyRequests(`${MAX_REQUESTS_IN_FLIGHT} requests are already in work.`, 1);
  inFlight.add(key, 1);
  req.context.atEnd(() => inFlight.add(key, -1));
}

/** What is guessed, for which account, and from which network. */
export type Guess = {
  readonly kind: 'password' | 'secret';
  readonly tenant: string;
  readonly account: string;
  readonly network: string;
};

const AN_HOUR_S = 3_600;

/**
 * Looks up the owner of a password or secret, if another guess is allowed now (docs/limits.md, "Guesses"). A guess takes a
 * token from its beginning, so that concurrent guesses gain nothing, and gives it back unless it was wrong.
 * @param refusal reason given if it is not allowed
 * @param find resolves to undefined for a wrong guess
 * @throws HttpError 429; errors of `find`, which count as no guess
 */
export async function withinGuesses<Owner>(
  { buckets, opened }: Pick<Api, 'buckets' | 'opened'>,
  { kind, tenant, account, network }: Guess,
  refusal: string,
  find: () => Promise<Owner | undefined>,
): Promise<Owner | undefined> {
  const pair = guessKey(kind, tenant, account, network);
  const limits: [key: string, guesses: number][] = [
    [pair, kind === 'password' ? GUESSES_OF_PASSWORD : GUESSES_OF_SECRET],
  ];
  // A network that has opened the account before has the first limit only: guesses made elsewhere lock nobody out.
  if (!opened.has(pair)) {
    limits.push([guessKey('network', network), GUESSES_OF_NETWORK]);
    limits.push([guessKey(kind, tenant, account), GUESSES_OF_ACCOUNT]);
  }
  const taken: string[] = [];
  let isWrong = false;
  try {
    for (const [key, burst] of limits) {
      const { isTaken, secondsToNext } = buckets.take(key, { burst, perSecond: burst / AN_HOUR_S });
      if (!isTaken) throw tooManyRequests(refusal, secondsToNext);
      taken.push(key);
    }
    const owner = await find();
    isWrong = owner === undefined;
    if (!isWrong) {
      opened.set(pair, true);
      buckets.fill(pair);
    }
    return owner;
  } finally {
    if (!isWrong) for (const key of taken) buckets.giveBack(key);
  }
}

/** Short keys, whatever the client sent. */
const guessKey = (...parts: readonly string[]): string => tagOf(JSON.stringify(parts));

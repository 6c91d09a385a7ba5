/**
 * Limits for each caller (spec §8): requests a second, reported in RateLimit fields
 * (draft-ietf-httpapi-ratelimit-headers), and requests in flight.
 */
import type { Request } from 'express';
import type { RateLimit } from '../domain/identity/events.js';
import type { Guess } from './auth/guesses.js';
import type { Api } from './deps.js';
import { HttpError, tooManyRequests } from './errors.js';
import type { Check } from './routes/operation.js';
import { networkOfRequest } from './senderAddress.js';

/** The operator's limit is a ceiling: a tenant's own can only be lower. 0 a second means no limit. */
export function limitOf(ofService: RateLimit, ofTenant: RateLimit | undefined): RateLimit {
  if (ofTenant === undefined) return ofService;
  if (ofService.perSecond <= 0) return ofTenant;
  return {
    perSecond: Math.min(ofService.perSecond, ofTenant.perSecond),
    burst: Math.min(ofService.burst, ofTenant.burst),
  };
}

/** After authentication. Each client and each user has a bucket; requests in flight are counted for the tenant. */
export const limitCaller: Check = (api, req, res) => {
  const { tenant, actor } = req.context;
  enter(api, req, tenant.name);
  const limit = limitOf(api.config.rateLimit, tenant.rateLimit);
  if (limit.perSecond <= 0) return;
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
  (api, req, res) => {
    const count = (error: unknown): never => {
      if (error instanceof HttpError && error.status === 401) takeOfNetwork(api, req);
      throw error;
    };
    try {
      return check(api, req, res)?.catch(count);
    } catch (error) {
      count(error);
    }
  };

function takeOfNetwork({ config, buckets }: Api, req: Request): void {
  const limit = config.rateLimit;
  if (limit.perSecond <= 0) return;
  const { isTaken, secondsToNext } = buckets.take(` ${networkOfRequest(req)}`, limit);
  if (!isTaken) throw overLimit(limit, secondsToNext);
}

const overLimit = ({ perSecond, burst }: RateLimit, seconds: number): HttpError =>
  tooManyRequests(`At most ${perSecond} requests a second, ${burst} at once.`, seconds);

function enter({ config: { requestsInFlight }, inFlight }: Api, req: Request, key: string): void {
  if (inFlight.of(key) >= requestsInFlight)
    throw tooManyRequests(`${requestsInFlight} requests are already in work.`, 1);
  inFlight.add(key, 1);
  req.context.atEnd(() => inFlight.add(key, -1));
}

/**
 * Looks up the owner of a password or secret, if another guess is allowed now, and counts the guess.
 * @param refusal reason given if it is not allowed
 * @param find resolves to undefined for a wrong guess
 * @throws HttpError 429; errors of `find`, which count as no guess
 */
export async function withinGuesses<Owner>(
  { guesses, metrics }: Pick<Api, 'guesses' | 'metrics'>,
  guess: Guess,
  refusal: string,
  find: () => Promise<Owner | undefined>,
): Promise<Owner | undefined> {
  const attempt = guesses.begin(guess);
  const kind = guess.kind === 'password' ? 'user' : 'client';
  if (attempt.secondsToWait > 0) {
    metrics.tenants.refused(guess.tenant, kind, 'too_many_wrong');
    throw tooManyRequests(refusal, attempt.secondsToWait);
  }
  let outcome: Parameters<typeof attempt.end>[0] = 'undecided';
  try {
    const owner = await find();
    outcome = owner === undefined ? 'wrong' : 'right';
    if (owner === undefined) metrics.tenants.refused(guess.tenant, kind, 'wrong_credentials');
    return owner;
  } finally {
    attempt.end(outcome);
  }
}

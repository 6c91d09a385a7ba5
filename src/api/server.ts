/** The HTTP API as one express application. */
import type { Express, RequestHandler } from 'express';
import express from 'express';
import { LRUCache } from 'lru-cache';
import { Tally } from '../supervision/fairQueue.js';
import { AnswersInFlight, showWork, TokenBuckets, turnsOf } from './admission.js';
import type { Api, ApiDeps } from './deps.js';
import { directoryRefresh } from './directoryRefresh.js';
import { errorHandler, unknownPath } from './errors.js';
import { useExpressPrototypes } from './listen.js';
import { openApiWriter } from './openapi/document.js';
import { openRequest } from './requestContext.js';
import { type Area, METHODS } from './routes/operation.js';
import { areaRouter, optionsOfService } from './routes/router.js';
import { areas, areasOf, healthArea } from './routeTable.js';

/** Links that a process knows as used, beside the log; it forgets the oldest. */
const MAX_USED_OPERATOR_LINKS = 1_000;

/** Pairs of account and network that have opened the account; the least recently used are forgotten. */
const MAX_KNOWN_OPENINGS = 50_000;

/** Does not listen yet: see `startHttpServer`. */
export const createApi = (deps: ApiDeps): Express => createApp(deps, areas);

/** For a process that serves no clients: health and metrics only. */
export const createHealthApi = (deps: ApiDeps): Express => createApp(deps, [healthArea]);

function createApp(deps: ApiDeps, served: readonly Area[]): Express {
  const { config } = deps;
  const api: Api = {
    ...deps,
    refresh: directoryRefresh(deps.commands),
    answers: new AnswersInFlight(),
    work: turnsOf(config.lists),
    buckets: new TokenBuckets(),
    inFlight: new Tally(),
    opened: new LRUCache({ max: MAX_KNOWN_OPENINGS }),
    operatorLinks: new LRUCache({ max: MAX_USED_OPERATOR_LINKS }),
    openApi: openApiWriter(areasOf),
  };
  showWork(deps.metrics.registry, api.work);
  const app = express();
  useExpressPrototypes(app);
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.set('trust proxy', config.trustProxy);
  // Query strings are parsed by rules of their own (spec §4.3).
  app.set('query parser', false);

  app.use(openRequest(deps, config));
  if (config.corsOrigins.length > 0) app.use(crossOrigin(config.corsOrigins));
  app.use(optionsOfService);
  for (const area of served) app.use(area.prefix === '' ? '/' : area.prefix, areaRouter(api, area));
  app.use(unknownPath);
  app.use(errorHandler(deps.log));
  return app;
}

/** Besides the CORS-safelisted response headers (Fetch standard). */
const EXPOSED = [
  'Allow',
  'ETag',
  'Idempotency-Replayed',
  'Link',
  'Location',
  'Projection-Pending',
  'Projection-Staleness',
  'At-Position',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
  'X-Request-Id',
].join(', ');

/** How long a browser may cache the preflight answer. */
const MAX_AGE_SECONDS = '3600';

/**
 * CORS (Fetch standard, §3.3): pages of the origins that the operator names may call the API. Credentials are not allowed:
 * a browser sends no session cookie along, so a page needs a token. Comes before tenant, token and rates: a preflight
 * request has no token.
 */
function crossOrigin(origins: readonly string[]): RequestHandler {
  const allowed = new Set(origins);
  return ({ method, headers }, res, next) => {
    res.vary('Origin');
    if (headers.origin === undefined || !allowed.has(headers.origin)) return next();
    res.setHeader('Access-Control-Allow-Origin', headers.origin);
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) {
      res.setHeader('Access-Control-Expose-Headers', EXPOSED);
      return next();
    }
    res.vary('Access-Control-Request-Headers');
    res.setHeader('Access-Control-Allow-Methods', ['HEAD', ...METHODS].join(', '));
    const fields = headers['access-control-request-headers'];
    if (fields !== undefined) res.setHeader('Access-Control-Allow-Headers', fields);
    res.setHeader('Access-Control-Max-Age', MAX_AGE_SECONDS);
    res.status(204).end();
  };
}

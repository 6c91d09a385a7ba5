/** The HTTP API as one express application. */
import type { Express } from 'express';
import express from 'express';
import { LRUCache } from 'lru-cache';
import { Tally } from '../supervision/fairQueue.js';
import { showWork, TokenBuckets, turnsOf } from './admission.js';
import type { Api, ApiDeps } from './deps.js';
import { errorHandler, nothingAt } from './errors.js';
import { useExpressPrototypes } from './listen.js';
import { HISTORY_FILE } from './metrics.js';
import { openApiWriter } from './openapi/document.js';
import { openRequest } from './requestContext.js';
import type { Area } from './routes/operation.js';
import { areaRouter } from './routes/router.js';
import { areas, areasOf, healthArea } from './routeTable.js';

/** Pairs of account and network that have opened the account; the least recently used are forgotten. */
const MAX_KNOWN_OPENINGS = 50_000;

/** Does not listen yet: see `startHttpServer`. */
export function createApi(deps: ApiDeps): Express {
  const app = createApp(deps, areas);
  void deps.metrics.watch(`${deps.config.DATA_DIR}/${HISTORY_FILE}`, deps.log);
  return app;
}

/** For a process that serves no clients: health and metrics only. */
export const createHealthApi = (deps: ApiDeps): Express => createApp(deps, [healthArea]);

function createApp(deps: ApiDeps, served: readonly Area[]): Express {
  const { config } = deps;
  const api: Api = {
    ...deps,
    answers: new Tally(),
    work: turnsOf(deps.lists),
    buckets: new TokenBuckets(),
    inFlight: new Tally(),
    opened: new LRUCache({ max: MAX_KNOWN_OPENINGS }),
    openOrders: new LRUCache({ max: 20_000, ttl: 45_000 }),
    openApi: openApiWriter(areasOf),
  };
  showWork(deps.metrics.registry, api.work);
  const app = express();
  useExpressPrototypes(app);
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.set('trust proxy', config.TRUST_PROXY);
  // Query strings are parsed by rules of their own (spec §4.3).
  app.set('query parser', false);

  app.use(openRequest(deps, config));
  for (const area of served) app.use(area.prefix === '' ? '/' : area.prefix, areaRouter(api, area));
  app.use((req) => {
    throw nothingAt(req);
  });
  app.use(errorHandler(deps.log));
  return app;
}

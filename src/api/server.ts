/** The HTTP API as one express application. */
import express, { type Express } from 'express';
import { AnswersInFlight } from './answersInFlight.js';
import { Guesses } from './auth/guesses.js';
import { BodiesInWork } from './bodiesInWork.js';
import { Compression } from './compression.js';
import { crossOrigin } from './crossOrigin.js';
import type { Api, ApiDeps } from './deps.js';
import { directoryRefresh } from './directoryRefresh.js';
import { errorHandler, unknownPath } from './errors.js';
import { useExpressPrototypes } from './expressPrototypes.js';
import { InFlight } from './inFlight.js';
import { ListTurns } from './listTurns.js';
import { openApiWriter } from './openapi/document.js';
import { openRequest } from './requestContext.js';
import type { Area } from './routes/operation.js';
import { areaRouter, optionsOfService } from './routes/router.js';
import { areas, healthArea } from './routeTable.js';
import { TokenBuckets } from './tokenBuckets.js';

/** Does not listen yet: see `startHttpServer`. */
export const createApi = (deps: ApiDeps): Express => createApp(deps, areas);

/** For a process that serves no clients: health and metrics only. */
export const createHealthApi = (deps: ApiDeps): Express => createApp(deps, [healthArea]);

function createApp(deps: ApiDeps, served: readonly Area[]): Express {
  const { config } = deps;
  const api: Api = {
    ...deps,
    refresh: directoryRefresh(deps.commands),
    lists: new ListTurns(config.lists),
    answers: new AnswersInFlight(),
    bodies: new BodiesInWork(),
    compression: new Compression(),
    buckets: new TokenBuckets(),
    inFlight: new InFlight(),
    guesses: new Guesses(),
    openApiText: openApiWriter(served),
  };
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

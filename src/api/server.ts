/** The HTTP API as one express application. */
import express, { type Express, Router } from 'express';
import { assetRoutes } from './assets/routes.js';
import { tokenEndpoint } from './auth/tokenEndpoint.js';
import type { ApiDeps } from './deps.js';
import { DirectoryRefresh } from './directoryRefresh.js';
import { errorHandler, methodNotAllowed, unknownPath } from './errors.js';
import { healthRoutes } from './health.js';
import { openApiRoutes } from './openapi/routes.js';
import { platformRoutes } from './platform/routes.js';
import { openRequest } from './requestContext.js';
import { sendJson } from './sendJson.js';

export const ASSETS_PATH = '/api/v1/dynamic-assets/dyn';
export const PLATFORM_PATH = '/api/v1/platform';

/** Listens nowhere yet: see `startHttpServer`. */
export function createApi(deps: ApiDeps): Express {
  const refresh = new DirectoryRefresh(deps.commands);
  return createApp(deps, (app) => {
    app.use(ASSETS_PATH, assetRoutes(deps, refresh));
    app.use(PLATFORM_PATH, platformRoutes(deps, refresh));
    app.use('/oauth', tokenEndpoint(deps, refresh));
    app.use('/.well-known', wellKnown(deps));
    app.use(healthRoutes(deps));
    app.use(openApiRoutes(deps, refresh));
  });
}

/** For a process that serves no clients: health and metrics only. */
export const createHealthApi = (deps: Pick<ApiDeps, 'config' | 'log' | 'metrics' | 'ready'>): Express =>
  createApp(deps, (app) => app.use(healthRoutes(deps)));

function createApp(
  { config, log, metrics }: Pick<ApiDeps, 'config' | 'log' | 'metrics'>,
  mount: (app: Express) => void,
): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.set('trust proxy', config.trustProxy);
  // Query strings are parsed where they are used, by their own rules (spec §4.3).
  app.set('query parser', false);

  app.use(openRequest(log, metrics));
  mount(app);
  app.use(unknownPath);
  app.use(errorHandler(log));
  return app;
}

/** The public keys, for other services that want to check tokens themselves (RFC 7517). */
function wellKnown({ tokens }: Pick<ApiDeps, 'tokens'>): Router {
  const router = Router({ caseSensitive: true });
  router
    .route('/jwks.json')
    .get((_req, res) => {
      res.setHeader('Cache-Control', 'public, max-age=300');
      sendJson(res, 200, JSON.stringify(tokens.jwks()));
    })
    .all(methodNotAllowed('GET, HEAD'));
  return router;
}

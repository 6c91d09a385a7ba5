/** For those who run the service: /health/live, /health/ready, /metrics. They need no tenant and no token. */
import { Router } from 'express';
import type { ApiDeps } from './deps.js';
import { methodNotAllowed } from './errors.js';
import { sendJson } from './sendJson.js';

export function healthRoutes({ ready, metrics }: Pick<ApiDeps, 'ready' | 'metrics'>): Router {
  const router = Router({ caseSensitive: true });
  const getOnly = methodNotAllowed('GET, HEAD');

  router
    .route('/health/live')
    .get((_req, res) => sendJson(res, 200, '{"status":"live"}'))
    .all(getOnly);

  router
    .route('/health/ready')
    .get(async (_req, res) => {
      const report = await ready();
      res.setHeader('Cache-Control', 'no-store');
      sendJson(res, report.ready ? 200 : 503, JSON.stringify(report));
    })
    .all(getOnly);

  router
    .route('/metrics')
    .get(async (_req, res) => {
      res.setHeader('Content-Type', metrics.registry.contentType).end(await metrics.text());
    })
    .all(getOnly);

  return router;
}

/** Liveness, readiness and metrics for operators. They need no tenant. */
import type { RequestListener } from 'node:http';
import type { Request } from 'express';
import { hashSecret, secretMatches } from '../commands/identity/secrets.js';
import type { Config } from '../config.js';
import { bearerToken } from './auth/principal.js';
import { forbidden, unauthenticated } from './errors.js';
import * as json from './openapi/schema.js';
import type { Resource } from './routes/operation.js';
import { isLocalProgram } from './tenantHost.js';

export const health: Resource = {
  tag: 'service',
  schemas: {
    Readiness: json.closedObject({
      ready: json.truth,
      checks: {
        type: 'object',
        additionalProperties: { type: 'object', properties: { ok: json.truth, detail: json.text }, required: ['ok'] },
      },
    }),
  },
  operations: {
    'GET /health/live': {
      id: 'getLiveness',
      summary: 'Liveness of the process',
      allow: 'anyone',
      answer: json.answer('The process is alive.', json.closedObject({ status: json.oneOf(['live']) })),
      handle: () => ({ body: '{"status":"live"}' }),
    },
    'GET /health/ready': {
      id: 'getReadiness',
      summary: 'Readiness for requests',
      allow: 'anyone',
      answer: json.answer('Requests can be served.', json.ref('Readiness')),
      async handle({ ready }) {
        const report = await ready();
        const headers = { 'Cache-Control': 'no-store' };
        return { status: report.ready ? 200 : 503, headers, body: JSON.stringify(report) };
      },
    },
    'GET /metrics': {
      id: 'getMetrics',
      summary: 'Figures for Prometheus',
      description:
        'With METRICS_TOKEN set, it needs that bearer token; otherwise it answers only programs on the machine of the service.',
      allow: 'anyone',
      answer: { description: 'Figures for Prometheus.', content: { 'text/plain': { schema: json.text } } },
      async handle({ config, metrics }, { req }) {
        requireMetricsAccess(config, req);
        return { headers: { 'Content-Type': metrics.registry.contentType }, body: await metrics.text() };
      },
    },
  },
};

/** Names of tenants and webhooks are shown only with METRICS_TOKEN, or to programs on this machine. @throws HttpError 401, 403 */
function requireMetricsAccess(config: Config, req: Request): void {
  const { METRICS_TOKEN } = config;
  if (METRICS_TOKEN === undefined) {
    if (isLocalProgram(req, config)) return;
    throw forbidden(
      'Figures are shown to programs of this machine only, at http://localhost. Elsewhere: set METRICS_TOKEN, and send it as a bearer token.',
    );
  }
  const given = bearerToken(req.headers.authorization);
  if (given === undefined || !secretMatches(given, hashSecret(METRICS_TOKEN)))
    throw unauthenticated('Send METRICS_TOKEN: Authorization: Bearer <token>.', 'Bearer realm="metrics"');
}

/** Listens until the service is open. */
export const whileStarting: RequestListener = (req, res) => {
  const path = req.url?.split('?')[0];
  const isLive = path === '/health/live';
  const detail = 'The service starts.';
  const readiness = { ready: false, checks: { event_store: { ok: false, detail } } };
  const refusal = { message: 'Temporarily unavailable; try again.', error: detail };
  const body = isLive ? { status: 'live' } : path === '/health/ready' ? readiness : refusal;
  res.writeHead(isLive ? 200 : 503, {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
    ...(isLive ? {} : { 'Retry-After': '1' }),
  });
  res.end(JSON.stringify(body));
};

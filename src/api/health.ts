/** For those who run the service: is it alive, is it ready, its figures. They need no tenant and no token. */
import * as json from './openapi/schema.js';
import type { Resource } from './routes/operation.js';

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
      id: 'live',
      summary: 'Whether the process answers',
      allow: 'anyone',
      answer: json.answer('It does.', json.closedObject({ status: json.oneOf(['live']) })),
      handle: () => ({ body: '{"status":"live"}' }),
    },
    'GET /health/ready': {
      id: 'ready',
      summary: 'Whether requests can be served',
      allow: 'anyone',
      answer: json.answer('They can.', json.ref('Readiness')),
      answers: { 503: json.answer('They cannot; the checks say why.', json.ref('Readiness')) },
      async handle({ ready }) {
        const report = await ready();
        const headers = { 'Cache-Control': 'no-store' };
        return { status: report.ready ? 200 : 503, headers, body: JSON.stringify(report) };
      },
    },
    'GET /metrics': {
      id: 'metrics',
      summary: 'Figures for Prometheus',
      allow: 'anyone',
      answer: { description: 'Figures for Prometheus.', content: { 'text/plain': { schema: json.text } } },
      handle: async ({ metrics: { registry } }) => ({
        headers: { 'Content-Type': registry.contentType },
        body: await registry.metrics(),
      }),
    },
  },
};

/** For those who run the service: is it alive, is it ready, its figures. They need no tenant and no token. */
import {
  closedObject,
  jsonResponse,
  oneOf,
  type ResponseObject,
  type Schemas,
  schemaRef,
  text,
  truth,
} from './openapi/schema.js';
import type { Resource } from './routes/operation.js';

const schemas: Schemas = {
  Readiness: closedObject({
    ready: truth,
    checks: {
      type: 'object',
      additionalProperties: { type: 'object', properties: { ok: truth, detail: text }, required: ['ok'] },
    },
  }),
};

const figures: ResponseObject = {
  description: 'Figures for Prometheus.',
  content: { 'text/plain': { schema: text } },
};

export const health: Resource = {
  tag: 'service',
  schemas,
  operations: [
    {
      method: 'get',
      path: '/health/live',
      id: 'live',
      summary: 'Whether the process answers',
      allow: 'anyone',
      answer: jsonResponse('It does.', closedObject({ status: oneOf(['live']) })),
      handle: () => ({ body: '{"status":"live"}' }),
    },
    {
      method: 'get',
      path: '/health/ready',
      id: 'ready',
      summary: 'Whether requests can be served',
      allow: 'anyone',
      answer: jsonResponse('They can.', schemaRef('Readiness')),
      answers: { 503: jsonResponse('They cannot; the checks say why.', schemaRef('Readiness')) },
      async handle({ ready }) {
        const report = await ready();
        const headers = { 'Cache-Control': 'no-store' };
        return { status: report.ready ? 200 : 503, headers, body: JSON.stringify(report) };
      },
    },
    {
      method: 'get',
      path: '/metrics',
      id: 'metrics',
      summary: 'Figures for Prometheus',
      allow: 'anyone',
      answer: figures,
      handle: async ({ metrics }) => ({
        headers: { 'Content-Type': metrics.registry.contentType },
        body: await metrics.text(),
      }),
    },
  ],
};

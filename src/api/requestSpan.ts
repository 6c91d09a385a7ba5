/** The span of a request, by OpenTelemetry's semantic conventions for HTTP servers. */
import { type Span, SpanKind, type Tracer } from '@opentelemetry/api';
import type { Request } from 'express';
import { failSpan, startSpan } from '../ports/tracing.js';

/** Not traced: frequent probes would hide other requests. */
const PROBES = /^\/(health\/|metrics$)/;

/** Continues the caller's trace if the request names one (W3C Trace Context). */
export function beginRequestSpan(tracer: Tracer, { method, path, headers }: Request): Span | undefined {
  if (PROBES.test(path)) return undefined;
  const { traceparent } = headers;
  const parent = typeof traceparent === 'string' ? traceparent : undefined;
  return startSpan(tracer, parent, method, { kind: SpanKind.SERVER });
}

/**
 * @param route path template below the router's; '' if none matched. The log has the full path with its ids, under the
 *   same correlation id.
 * @param status 499 if the client disconnected before its answer
 */
export function endRequestSpan({ method, context }: Request, span: Span, route: string, status: number): void {
  const template = route === '' ? undefined : context.mount + route;
  span.updateName(template === undefined ? method : `${method} ${template}`);
  span.setAttributes({
    'http.request.method': method,
    'http.route': template,
    'http.response.status_code': status,
    'dynamic_assets.tenant': context.tenantName,
    'dynamic_assets.correlation_id': context.requestId,
  });
  if (status >= 500 || status === 499) failSpan(span, String(status));
  span.end();
}

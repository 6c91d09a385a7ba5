/** The span of a request, by OpenTelemetry's semantic conventions for HTTP servers. */
import type { Request } from 'express';
import type { Span, Tracer } from '../ports/tracing.js';

/** Not traced: frequent probes would hide other requests. */
const PROBES = /^\/(health\/|metrics$)/;

/** Continues the caller's trace if the request names one (W3C Trace Context). */
export function beginRequestSpan(tracer: Tracer, { method, path, headers }: Request): Span | undefined {
  if (PROBES.test(path)) return undefined;
  const { traceparent } = headers;
  return tracer.begin(method, {
    kind: 'server',
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
  });
}

/**
 * @param route path template below the router's; '' if none matched. The log has the full path with its ids, under the
 *   same correlation id.
 * @param status 499 if the client disconnected before its answer
 */
export function endRequestSpan({ method, context }: Request, span: Span, route: string, status: number): void {
  const template = route === '' ? undefined : context.mount + route;
  span.end({
    name: template === undefined ? method : `${method} ${template}`,
    attributes: {
      'http.request.method': method,
      'http.route': template,
      'http.response.status_code': status,
      'dynamic_assets.tenant': context.tenantName,
      'dynamic_assets.correlation_id': context.requestId,
    },
    ...(status >= 500 || status === 499 ? { failure: String(status) } : {}),
  });
}

/** The span of a request, by OpenTelemetry's semantic conventions for HTTP servers. */
import type { Request } from 'express';
import type { Span, Tracer } from '../ports/tracing.js';

/** What asks every few seconds whether the service is well would hide what is worth a look. */
const PROBES = /^\/(health\/|metrics$)/;

/** Part of the caller's trace, where the request names one (W3C Trace Context). */
export function beginRequestSpan(tracer: Tracer, { method, path, headers }: Request): Span | undefined {
  if (PROBES.test(path)) return undefined;
  const { traceparent } = headers;
  return tracer.begin(method, {
    kind: 'server',
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
  });
}

/**
 * @param route template of the path below that of the router; '' where none served it. The path itself, with its ids, is
 *   told by the service's log, where the correlation id finds it.
 * @param status 499 where the client went away before it had its answer
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

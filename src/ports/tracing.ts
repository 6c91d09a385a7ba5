/**
 * Spans of OpenTelemetry's API, linked by `traceparent` (W3C Trace Context): a request's trace goes on in other processes,
 * which find it in the event. A `Tracer` is passed only where traces are made, so without them no span is created.
 */
import {
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanOptions,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';

/** A span of the trace that `traceparent` names; of a new trace if it is missing or invalid: a client may send anything. */
export function startSpan(tracer: Tracer, traceparent: string | undefined, name: string, options: SpanOptions): Span {
  const [version = '', traceId = '', spanId = '', flags = ''] = traceparent?.split('-') ?? [];
  const parent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  const isValid = version !== 'ff' && isSpanContextValid(parent);
  return tracer.startSpan(name, options, isValid ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT);
}

/** Continues the trace of a span; undefined if that trace is not kept (sampled). */
export function traceparentOf(span: Span | undefined): string | undefined {
  const context = span?.spanContext();
  if (context === undefined || (context.traceFlags & TraceFlags.SAMPLED) === 0) return undefined;
  return `00-${context.traceId}-${context.spanId}-01`;
}

/** Marks a span as failed. @param kind not an error's message, which may contain data that readers of traces must not see */
export function failSpan(span: Span, kind: string): void {
  span.setAttribute('error.type', kind);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

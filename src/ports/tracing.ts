/**
 * Spans of OpenTelemetry's API, linked by `traceparent` (W3C Trace Context): a request's trace goes on in other processes,
 * which find it in the event. A `Tracer` is passed only where traces are made, so without them no span is created.
 *
 * Adapter: `adapters/tracing` (OpenTelemetry's SDK), loaded only where traces are made.
 */
import {
  type Context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanOptions,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';

export type { Span, Tracer };

/** A span of the trace that `traceparent` names; of a new trace if it is missing or invalid. */
export const startSpan = (tracer: Tracer, traceparent: string | undefined, name: string, options: SpanOptions): Span =>
  tracer.startSpan(name, options, contextOf(traceparent));

/** Continues the trace of a span; undefined if that trace is not kept (sampled). */
export function traceparentOf(span: Span | undefined): string | undefined {
  const context = span?.spanContext();
  if (context === undefined || (context.traceFlags & TraceFlags.SAMPLED) === 0) return undefined;
  return `00-${context.traceId}-${context.spanId}-01`;
}

/**
 * Marks a span as failed, with the kind of failure only: an error's message may contain data that readers of traces must
 * not see.
 */
export function failSpan(span: Span, failure: unknown): void {
  const named = typeof failure === 'string' ? failure : typeof failure;
  span.setAttribute('error.type', failure instanceof Error ? failure.name : named);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** @param traceparent from a client: anything is possible */
function contextOf(traceparent = ''): Context {
  const [version = '', traceId = '', spanId = '', flags = ''] = traceparent.split('-');
  const parent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return version !== 'ff' && isSpanContextValid(parent) ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
}

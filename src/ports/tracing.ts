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

import type { EventToAppend } from './eventStore.js';

export type { Span, Tracer };

/**
 * Work on an event later than this after its creation adds nothing to its trace. Otherwise a new webhook would fill old traces
 * with spans that no request waited for.
 */
const TRACED_FOR_MS = 3_600_000;

/** Whether work on a stored event adds to its trace. @param now milliseconds since 1970 */
export const isTraced = (
  { metadata: { traceparent, occurredAt } }: Pick<EventToAppend, 'metadata'>,
  now: number,
): boolean => traceparent !== undefined && now - Date.parse(occurredAt) <= TRACED_FOR_MS;

/** A span of the trace that `traceparent` names; of a new trace if it is missing or invalid. */
export const startSpan = (tracer: Tracer, traceparent: string | undefined, name: string, options: SpanOptions): Span =>
  tracer.startSpan(name, options, contextOf(traceparent));

/** A span of an existing trace; undefined where no traces are made, or that one is not kept. */
export const continueTrace = (
  tracer: Tracer | undefined,
  traceparent: string | undefined,
  name: string,
  options: SpanOptions,
): Span | undefined =>
  tracer === undefined || traceparent === undefined ? undefined : startSpan(tracer, traceparent, name, options);

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

/** Does the work and ends the spans with it. @throws what the work throws, which is the spans' failure */
export async function inSpans<Answer>(spans: Iterable<Span>, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (failure) {
    for (const span of spans) failSpan(span, failure);
    throw failure;
  } finally {
    for (const span of spans) span.end();
  }
}

/** Version, trace id, span id and flags (W3C Trace Context §3.2); version 00 has no further fields. */
const TRACEPARENT = /^(?!ff)([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** @param traceparent from a client: anything is possible */
function contextOf(traceparent = ''): Context {
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(traceparent) ?? [];
  const parent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  if (!isSpanContextValid(parent) || (version === '00' && more !== undefined)) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, parent);
}

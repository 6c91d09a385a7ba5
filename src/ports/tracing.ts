/**
 * Traces: the work that one request caused, in any process, each piece a span with its duration. Parts that make spans
 * get a `Tracer`, or undefined while tracing is off, which costs nothing.
 *
 * Adapter: `adapters/tracing` (OpenTelemetry), loaded only where traces are made.
 */
import type { EventToAppend } from './eventStore.js';

/**
 * Work on an event older than this is not added to its trace. Otherwise reading the log again would add spans to old
 * traces.
 */
const TRACED_FOR_MS = 3_600_000;

/** Named by OpenTelemetry's semantic conventions where they have a name. Undefined values are left out. */
export type Attributes = { readonly [name: string]: string | number | boolean | undefined };

export type SpanStart = {
  /** As OpenTelemetry defines them (trace API, SpanKind). */
  readonly kind: 'server' | 'client' | 'producer' | 'consumer' | 'internal';
  /** The parent span. Without a valid one, a new trace begins. */
  readonly traceparent?: string | undefined;
  /** Milliseconds since 1970; now where unset. */
  readonly startedAt?: number;
};

export type SpanEnd = {
  readonly attributes?: Attributes;
  /** Replaces the name given at the start. */
  readonly name?: string;
  /** An error, or its kind in one word. */
  readonly failure?: unknown;
  /** Milliseconds since 1970; now where unset. */
  readonly endedAt?: number;
};

export interface Span {
  /** Passed on to continue the trace (W3C Trace Context, `traceparent`). Undefined if the trace is not sampled. */
  readonly traceparent: string | undefined;
  /** Never throws and never waits: spans that cannot be sent are lost. */
  end(end?: SpanEnd): void;
}

export interface Tracer {
  begin(name: string, start: SpanStart): Span;
}

/** Begins a child span. Undefined if tracing is off or the parent is not sampled. */
export const continueTrace = (
  tracer: Tracer | undefined,
  traceparent: string | undefined,
  name: string,
  start: Omit<SpanStart, 'traceparent'>,
): Span | undefined => (traceparent === undefined ? undefined : tracer?.begin(name, { ...start, traceparent }));

type OfTrace = Pick<EventToAppend, 'metadata'>;

/** Whether work done on a stored event now belongs to a trace. */
export const isTraced = ({ metadata: { traceparent, occurredAt } }: OfTrace, now: number): boolean =>
  traceparent !== undefined && now - Date.parse(occurredAt) <= TRACED_FOR_MS;

/** Counts the events made in each span, by its `traceparent`. */
export function countByTrace(events: Iterable<OfTrace>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { metadata } of events) {
    const { traceparent } = metadata;
    if (traceparent !== undefined) counts.set(traceparent, (counts.get(traceparent) ?? 0) + 1);
  }
  return counts;
}

/** Does the work and ends the span. @throws the work's error, which becomes the span's failure */
export async function inSpan<Answer>(
  span: Span | undefined,
  work: () => Promise<Answer>,
  attributesOf: (answer: Answer) => Attributes = () => ({}),
): Promise<Answer> {
  if (span === undefined) return work();
  try {
    const answer = await work();
    span.end({ attributes: attributesOf(answer) });
    return answer;
  } catch (failure) {
    span.end({ failure });
    throw failure;
  }
}

/**
 * Traces: what was done for one request, by whichever part and process, each piece of work a span with its time. Who makes
 * spans is given a `Tracer`, or none while no traces are made: then nothing is done at all.
 *
 * Adapter: `adapters/tracing` (OpenTelemetry), loaded only where traces are made.
 */
import type { EventToAppend } from './eventStore.js';

/**
 * What is done with an event later than this after it was made adds nothing to its trace. Whoever goes through the log again
 * would otherwise fill old traces with what nobody waits for.
 */
const TRACED_FOR_MS = 3_600_000;

/** By the names of OpenTelemetry's semantic conventions, where they have one. What is undefined is left out. */
export type Attributes = { readonly [name: string]: string | number | boolean | undefined };

export type SpanStart = {
  /** As OpenTelemetry defines them (trace API, SpanKind). */
  readonly kind: 'server' | 'client' | 'producer' | 'consumer' | 'internal';
  /** Of the span that this one is part of. Without one, or with what is none, a new trace begins. */
  readonly traceparent?: string | undefined;
  /** Milliseconds since 1970; now where unset. */
  readonly startedAt?: number;
};

export type SpanEnd = {
  readonly attributes?: Attributes;
  /** A better name, where it was not known at the start. */
  readonly name?: string;
  /** What went wrong: an error, or its kind in a word. */
  readonly failure?: unknown;
  /** Milliseconds since 1970; now where unset. */
  readonly endedAt?: number;
};

export interface Span {
  /**
   * Whatever continues the trace is given this (W3C Trace Context, `traceparent`). Undefined where the trace is not kept:
   * then nothing needs to continue it.
   */
  readonly traceparent: string | undefined;
  /** Never throws, and never waits: what cannot be sent is lost. */
  end(end?: SpanEnd): void;
}

export interface Tracer {
  begin(name: string, start: SpanStart): Span;
}

/** Begins a span that is part of another one; none where no traces are made, or that one is not kept. */
export const continueTrace = (
  tracer: Tracer | undefined,
  traceparent: string | undefined,
  name: string,
  start: Omit<SpanStart, 'traceparent'>,
): Span | undefined => (traceparent === undefined ? undefined : tracer?.begin(name, { ...start, traceparent }));

type OfTrace = Pick<EventToAppend, 'metadata'>;

/** Whether what is done with a stored event now is part of a trace. */
export const isTraced = ({ metadata: { traceparent, occurredAt } }: OfTrace, now: number): boolean =>
  traceparent !== undefined && now - Date.parse(occurredAt) <= TRACED_FOR_MS;

/** How many of the events were made in each span. */
export function countByTrace(events: Iterable<OfTrace>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { metadata } of events) {
    const { traceparent } = metadata;
    if (traceparent !== undefined) counts.set(traceparent, (counts.get(traceparent) ?? 0) + 1);
  }
  return counts;
}

/** Does the work and ends the span with it. @throws what the work throws, which is the span's failure */
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

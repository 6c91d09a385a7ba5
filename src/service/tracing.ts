/** Tracing in this process, if a collector is configured; and the log with traced appends. */
import { SpanKind, type Tracer } from '@opentelemetry/api';
import type { Logger } from 'pino';
import type { OpenTracer } from '../adapters/tracing/openTelemetry.js';
import { type Config, version } from '../config.js';
import { parseStream } from '../domain/streams.js';
import type { EventStore, EventToAppend } from '../ports/eventStore.js';
import { inSpans, startSpan } from '../ports/tracing.js';

/** Undefined if tracing is off. OpenTelemetry's SDK is loaded only here, which takes a tenth of a second. */
export async function startTracing(
  { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }: Config,
  log: Logger,
): Promise<OpenTracer | undefined> {
  if (endpoint === undefined) return undefined;
  const { openTracer } = await import('../adapters/tracing/openTelemetry.js');
  return openTracer({ version: version(), onTrouble: (reason) => log.warn({ reason }, 'OpenTelemetry is in trouble') });
}

/** The log with a span per append, in each trace that has events in it. */
export const traceAppends = (log: EventStore, tracer: Tracer | undefined): EventStore =>
  tracer === undefined
    ? log
    : {
        ...log,
        append: (stream, events, ...options) =>
          appendTraced(tracer, stream, events, () => log.append(stream, events, ...options)),
      };

/** Changes of several requests may share an append. */
function appendTraced<Answer>(
  tracer: Tracer,
  stream: string,
  events: readonly EventToAppend[],
  append: () => Promise<Answer>,
): Promise<Answer> {
  const { category } = parseStream(stream);
  const counts = new Map<string, number>();
  for (const { metadata } of events)
    if (metadata.traceparent !== undefined)
      counts.set(metadata.traceparent, (counts.get(metadata.traceparent) ?? 0) + 1);
  const spans = [...counts].map(([traceparent, count]) => {
    const attributes = {
      'dynamic_assets.stream.category': category,
      'dynamic_assets.events': count,
      'dynamic_assets.append.events': events.length,
    };
    return startSpan(tracer, traceparent, `append ${category}`, { kind: SpanKind.PRODUCER, attributes });
  });
  return inSpans(spans, append);
}

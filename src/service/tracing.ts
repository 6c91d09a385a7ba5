/** Tracing in this process, if a collector is configured; and the log with traced appends. */
import { SpanKind, type Tracer } from '@opentelemetry/api';
import type { Logger } from 'pino';
import type { OpenTracer } from '../adapters/tracing/openTelemetry.js';
import { type Config, version } from '../config.js';
import { parseStream } from '../domain/streams.js';
import type { EventStore } from '../ports/eventStore.js';
import { failSpan, startSpan } from '../ports/tracing.js';

/** Undefined if tracing is off. OpenTelemetry's SDK is loaded only here, which takes a tenth of a second. */
export async function startTracing(
  { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }: Config,
  log: Logger,
): Promise<OpenTracer | undefined> {
  if (endpoint === undefined) return undefined;
  const { openTracer } = await import('../adapters/tracing/openTelemetry.js');
  return openTracer({ version: version(), onTrouble: (reason) => log.warn({ reason }, 'OpenTelemetry is in trouble') });
}

/** The log with a span per append, in each trace that has events in it: changes of several requests may share an append. */
export const traceAppends = (log: EventStore, tracer: Tracer | undefined): EventStore =>
  tracer === undefined
    ? log
    : {
        ...log,
        async append(stream, events, ...more) {
          const { category } = parseStream(stream);
          const attributes = {
            'dynamic_assets.stream.category': category,
            'dynamic_assets.append.events': events.length,
          };
          const options = { kind: SpanKind.PRODUCER, attributes };
          const traces = new Set(events.flatMap(({ metadata }) => metadata.traceparent ?? []));
          const spans = [...traces].map((each) => startSpan(tracer, each, `append ${category}`, options));
          try {
            return await log.append(stream, events, ...more);
          } catch (failure) {
            for (const span of spans)
              failSpan(span, failure instanceof Error ? failure.constructor.name : typeof failure);
            throw failure;
          } finally {
            for (const span of spans) span.end();
          }
        },
      };

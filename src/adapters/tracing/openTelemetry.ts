/**
 * Traces by the SDK of OpenTelemetry, sent as OTLP over HTTP. The SDK reads its own environment variables: where to send
 * to (OTEL_EXPORTER_OTLP_*), which traces to keep (OTEL_TRACES_SAMPLER), how many spans may wait (OTEL_BSP_*), and what the
 * service is called. Nothing is registered with the global API, so no other package makes spans.
 */
import {
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Span as SdkSpan,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { ExportResultCode, parseTraceParent, setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { Span, SpanStart, Tracer } from '../../ports/tracing.js';
import { withTimeout } from '../../supervision/waiting.js';

export type OpenTracer = Tracer & {
  /** Sends what waits, for `FLUSH_MS` at most. */
  stop(): Promise<void>;
};

export type TracerOptions = {
  /** Of the service. */
  readonly version: string;
  /** Spans cannot be sent from now on, and are lost. Called once until they are sent again, and at most once a minute. */
  readonly onLost: (reason: string) => void;
  readonly onSentAgain: () => void;
  /** What the SDK has to say, such as that a variable has a value that it does not know; each sentence once. */
  readonly onWarning: (warning: string) => void;
};

const SERVICE = 'dynamic-assets';

/** A stop of the service waits so long for whoever takes the spans. */
const FLUSH_MS = 2_000;

/** A loss soon after another one is not told: whoever takes the spans may be too slow now and then. */
const QUIET_MS = 60_000;

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const satisfies Record<SpanStart['kind'], SpanKind>;

/** Once in a process: some of the SDK's state is global. */
export function openTracer({ version, onLost, onSentAgain, onWarning }: TracerOptions): OpenTracer {
  tellWarnings(onWarning);
  let isLossTold = false;
  let toldAt = Number.NEGATIVE_INFINITY;
  const lost = (error: unknown): void => {
    if (isLossTold || performance.now() - toldAt < QUIET_MS) return;
    isLossTold = true;
    toldAt = performance.now();
    onLost(reasonOf(error));
  };
  setGlobalErrorHandler(lost);
  const exporter = new WatchedExporter(() => {
    if (isLossTold) onSentAgain();
    isLossTold = false;
  });
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': SERVICE, 'service.version': version }))
      .merge(detectResources({ detectors: [serviceInstanceIdDetector, envDetector] })),
    // Of bounded length; what does not fit is lost.
    spanProcessors: [new BatchSpanProcessor(exporter)],
  });
  const tracer = provider.getTracer(SERVICE, version);
  return {
    begin: (name, { kind, traceparent, startedAt }) => {
      const options = { kind: KINDS[kind], ...(startedAt === undefined ? {} : { startTime: startedAt }) };
      return toSpan(tracer.startSpan(name, options, contextOf(traceparent)));
    },
    async stop() {
      try {
        await withTimeout(FLUSH_MS, `Not all were sent within ${FLUSH_MS / 1000} s.`, provider.shutdown());
      } catch (error) {
        lost(error);
      }
    },
  };
}

class WatchedExporter extends OTLPTraceExporter {
  readonly #onSent: () => void;

  constructor(onSent: () => void) {
    super();
    this.#onSent = onSent;
  }

  override export(...[spans, done]: Parameters<OTLPTraceExporter['export']>): void {
    super.export(spans, (result) => {
      if (result.code === ExportResultCode.SUCCESS) this.#onSent();
      done(result);
    });
  }
}

function tellWarnings(onWarning: (warning: string) => void): void {
  const told = new Set<string>();
  const tell = (warning: string): void => {
    // How many spans were dropped is another number each time.
    const sentence = warning.replace(/\d+/g, '#');
    if (told.has(sentence)) return;
    told.add(sentence);
    onWarning(warning);
  };
  const ignore = (): void => undefined;
  const logger = { error: tell, warn: tell, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}

/** Of an error, whose other members may hold a whole answer of whoever takes the spans. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error ? `${error.message} (${String(error.code)})`.trim() : error.message;
}

/** @param traceparent as anybody may have sent it */
function contextOf(traceparent: string | undefined) {
  const parent = traceparent === undefined ? null : parseTraceParent(traceparent);
  return parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true });
}

function toSpan(span: SdkSpan): Span {
  const { traceId, spanId, traceFlags } = span.spanContext();
  const isKept = (traceFlags & TraceFlags.SAMPLED) !== 0;
  return {
    traceparent: isKept ? `00-${traceId}-${spanId}-01` : undefined,
    end({ name, attributes, failure, endedAt } = {}) {
      if (name !== undefined) span.updateName(name);
      if (attributes !== undefined) span.setAttributes(attributes);
      if (failure !== undefined)
        span.setAttribute('error.type', kindOf(failure)).setStatus({ code: SpanStatusCode.ERROR });
      span.end(endedAt);
    },
  };
}

/** Not the message of an error, which may name what is none of the business of those who read traces. */
function kindOf(failure: unknown): string {
  if (failure instanceof Error) return failure.name;
  return typeof failure === 'string' ? failure : typeof failure;
}

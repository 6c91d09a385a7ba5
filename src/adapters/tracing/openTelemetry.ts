/**
 * Traces by OpenTelemetry's SDK, sent as OTLP over HTTP. The SDK reads its own environment variables: where to send
 * spans (OTEL_EXPORTER_OTLP_*), which traces to sample (OTEL_TRACES_SAMPLER), how many spans may wait (OTEL_BSP_*), and
 * the service's name. Nothing is registered with the global API, so no other package creates spans.
 */
import { DiagLogLevel, diag, type Tracer } from '@opentelemetry/api';
import { ExportResultCode, setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { withTimeout } from '../../supervision/waiting.js';

export type OpenTracer = {
  readonly tracer: Tracer;
  /** Sends the waiting spans, for at most `FLUSH_MS`. */
  stop(): Promise<void>;
};

export type TracerOptions = {
  /** The service's version. */
  readonly version: string;
  /** Called when spans cannot be sent and are lost; once until they are sent again, and at most once a minute. */
  readonly onLost: (reason: string) => void;
  readonly onSentAgain: () => void;
  /** Called with the SDK's warnings, such as an unknown value of a variable; once for each sentence. */
  readonly onWarning: (warning: string) => void;
};

const SERVICE = 'dynamic-assets';

/** How long stopping the service waits for the collector. */
const FLUSH_MS = 2_000;

/** No second report within this time: a collector may be too slow now and then. */
const QUIET_MS = 60_000;

/** Call it once per process: some of the SDK's state is global. */
export function openTracer({ version, onLost, onSentAgain, onWarning }: TracerOptions): OpenTracer {
  reportWarnings(onWarning);
  let isLossReported = false;
  let reportedAt = Number.NEGATIVE_INFINITY;
  const lost = (error: unknown): void => {
    if (isLossReported || performance.now() - reportedAt < QUIET_MS) return;
    isLossReported = true;
    reportedAt = performance.now();
    onLost(reasonOf(error));
  };
  setGlobalErrorHandler(lost);
  const exporter = new WatchedExporter(() => {
    if (isLossReported) onSentAgain();
    isLossReported = false;
  });
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': SERVICE, 'service.version': version }))
      .merge(detectResources({ detectors: [serviceInstanceIdDetector, envDetector] })),
    // Its buffer is limited; spans beyond it are lost.
    spanProcessors: [new BatchSpanProcessor(exporter)],
  });
  return {
    tracer: provider.getTracer(SERVICE, version),
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

function reportWarnings(onWarning: (warning: string) => void): void {
  const reported = new Set<string>();
  const report = (warning: string): void => {
    // The number of dropped spans differs each time.
    const sentence = warning.replace(/\d+/g, '#');
    if (reported.has(sentence)) return;
    reported.add(sentence);
    onWarning(warning);
  };
  const ignore = (): void => undefined;
  const logger = { error: report, warn: report, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}

/** An error's other properties may hold the collector's whole answer. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error ? `${error.message} (${String(error.code)})`.trim() : error.message;
}

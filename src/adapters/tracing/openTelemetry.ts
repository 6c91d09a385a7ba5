/**
 * Traces by OpenTelemetry's SDK, sent as OTLP over HTTP. The SDK reads its own environment variables: where to send
 * spans (OTEL_EXPORTER_OTLP_*), which traces to sample (OTEL_TRACES_SAMPLER), how many spans may wait (OTEL_BSP_*), and
 * the service's name. Nothing is registered with the global API, so no other package creates spans.
 */
import { DiagLogLevel, diag, type Tracer } from '@opentelemetry/api';
import { setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { withTimeout } from '../../supervision/deadline.js';
import { messageOf } from '../../supervision/files.js';

export type OpenTracer = {
  readonly tracer: Tracer;
  /** Sends the waiting spans, for at most `FLUSH_MS`. */
  stop(): Promise<void>;
};

type TracerOptions = {
  /** The service's version. */
  readonly version: string;
  /** Called with why spans are lost, and with the SDK's warnings: at most once a minute. */
  readonly onTrouble: (sentence: string) => void;
};

const SERVICE = 'dynamic-assets';
/** How long stopping the service waits for the collector. */
const FLUSH_MS = 2_000;
const QUIET_MS = 60_000;

/** Call it once per process: some of the SDK's state is global. */
export function openTracer({ version, onTrouble }: TracerOptions): OpenTracer {
  let saidAt = Number.NEGATIVE_INFINITY;
  const say = (sentence: string): void => {
    if (performance.now() - saidAt < QUIET_MS) return;
    saidAt = performance.now();
    onTrouble(sentence);
  };
  const logger = { error: say, warn: say, info() {}, debug() {}, verbose() {} };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  // An error's other properties may hold the collector's whole answer.
  const lost = (error: unknown): void => say(`Spans are lost: ${messageOf(error)}`);
  setGlobalErrorHandler(lost);
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': SERVICE, 'service.version': version }))
      .merge(detectResources({ detectors: [serviceInstanceIdDetector, envDetector] })),
    // Its buffer is limited; spans beyond it are lost.
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  return {
    tracer: provider.getTracer(SERVICE, version),
    async stop() {
      const flushed = provider.shutdown();
      await withTimeout(FLUSH_MS, `not all were sent within ${FLUSH_MS / 1000} s.`, flushed).catch(lost);
    },
  };
}

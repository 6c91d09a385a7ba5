/** Spans of the webhook path: the relay's work on an event, and each attempt. */
import { type Span, SpanKind, type Tracer } from '@opentelemetry/api';
import type { LoadedDelivery } from '../commands/webhooks/deliveryStream.js';
import type { Webhook } from '../domain/identity/directory.js';
import type { AttemptResult } from '../domain/webhook/delivery.js';
import type { RecordedEvent } from '../ports/eventStore.js';
import { isTraced } from '../ports/tracedEvents.js';
import { continueTrace, failSpan, inSpans, startSpan, traceparentOf } from '../ports/tracing.js';
import type { DeliveryRequest } from './deliveryRequests.js';

/**
 * Does the relay's work on a slice within a span for each event that has deliveries. Everything that follows from the
 * event, first of all each attempt, is part of that span.
 * @param work is given a function that returns the `traceparent` of an event's span
 */
export async function traceRelay(
  tracer: Tracer | undefined,
  requests: readonly DeliveryRequest[],
  work: (traceparentOf: (source: RecordedEvent) => string | undefined) => Promise<void>,
): Promise<void> {
  if (tracer === undefined) return work(() => undefined);
  const now = Date.now();
  const deliveries = new Map<RecordedEvent, number>();
  for (const { source } of requests) {
    if (isTraced(source, now)) deliveries.set(source, (deliveries.get(source) ?? 0) + 1);
  }
  const spans = new Map<RecordedEvent, Span>();
  for (const [source, count] of deliveries) {
    const attributes = { 'dynamic_assets.event.type': source.type, 'dynamic_assets.deliveries': count };
    const options = { kind: SpanKind.CONSUMER, attributes };
    spans.set(source, startSpan(tracer, source.metadata.traceparent, 'relay', options));
  }
  await inSpans([...spans.values()], () => work((source) => traceparentOf(spans.get(source))));
}

/**
 * Makes an attempt within a span of its own. The receiver gets no trace context: it belongs to another company, and its
 * messages have ids of their own.
 */
export async function traceAttempt(
  tracer: Tracer | undefined,
  { caller, deliveryId, delivery }: LoadedDelivery,
  { id, url }: Webhook,
  post: () => Promise<AttemptResult>,
): Promise<AttemptResult> {
  const span = continueTrace(tracer, caller.traceparent, 'webhook attempt', { kind: SpanKind.CLIENT });
  const result = await post();
  if (span === undefined) return result;
  const { ok, status } = result;
  span.setAttributes({
    'http.request.method': 'POST',
    'http.response.status_code': status ?? undefined,
    // Not the URL's path and query, which may hold secrets of the receiver.
    'server.address': new URL(url).hostname,
    'dynamic_assets.webhook.id': id,
    'dynamic_assets.webhook.event': delivery.subject.kind,
    'dynamic_assets.delivery.id': deliveryId,
    'dynamic_assets.attempt': delivery.started + 1,
  });
  if (!ok) failSpan(span, status === null ? (result.cause ?? 'no answer') : String(status));
  span.end();
  return result;
}

/** Spans of the webhook path: the relay's work on an event, and each attempt. */
import type { LoadedDelivery } from '../commands/webhooks/deliveryStream.js';
import type { Webhook } from '../domain/identity/directory.js';
import type { AttemptResult } from '../domain/webhook/delivery.js';
import type { RecordedEvent } from '../ports/eventStore.js';
import { continueTrace, isTraced, type Span, type Tracer } from '../ports/tracing.js';
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
  const spans = new Map<RecordedEvent, { readonly span: Span; deliveries: number }>();
  const now = Date.now();
  if (tracer !== undefined) {
    for (const { source } of requests) {
      const begun = spans.get(source);
      if (begun !== undefined) begun.deliveries += 1;
      else if (isTraced(source, now)) {
        const { traceparent } = source.metadata;
        spans.set(source, { span: tracer.begin('relay', { kind: 'consumer', traceparent }), deliveries: 1 });
      }
    }
  }
  const end = (outcome: { readonly failure?: unknown }): void => {
    for (const [{ type }, { span, deliveries }] of spans) {
      const attributes = { 'dynamic_assets.event.type': type, 'dynamic_assets.deliveries': deliveries };
      span.end({ attributes, ...outcome });
    }
  };
  try {
    await work((source) => spans.get(source)?.span.traceparent);
    end({});
  } catch (failure) {
    end({ failure });
    throw failure;
  }
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
  const span = continueTrace(tracer, caller.traceparent, 'webhook attempt', { kind: 'client' });
  const result = await post();
  const { ok, status } = result;
  // The URL's path and query may hold secrets of the receiver.
  span?.end({
    attributes: {
      'http.request.method': 'POST',
      'http.response.status_code': status ?? undefined,
      'server.address': new URL(url).hostname,
      'dynamic_assets.webhook.id': id,
      'dynamic_assets.webhook.event': delivery.subject.kind,
      'dynamic_assets.delivery.id': deliveryId,
      'dynamic_assets.attempt': delivery.started + 1,
    },
    ...(ok ? {} : { failure: status === null ? (result.cause ?? 'no answer') : String(status) }),
  });
  return result;
}

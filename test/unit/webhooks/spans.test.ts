import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { RecordedEvent } from '#app/ports/eventStore.js';
import type { DeliveryRequest } from '#app/webhooks/deliveryRequests.js';
import { traceRelay } from '#app/webhooks/relay.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const EVENTS = `00-${TRACE}-b7ad6b7169203331-01`;

function recorder() {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  return {
    tracer: provider.getTracer('test'),
    /** The spans that have ended. */
    ended: () =>
      exporter.getFinishedSpans().map((span) => {
        const { traceId, spanId } = span.spanContext();
        const { name, attributes, parentSpanContext } = span;
        return { name, attributes, parent: parentSpanContext?.spanId, traceparent: `00-${traceId}-${spanId}-01` };
      }),
  };
}

const approved = (minutesAgo: number, traceparent?: string) => {
  const occurredAt = new Date(Date.now() - minutesAgo * 60_000).toISOString();
  return { type: 'OrderApproved', metadata: { occurredAt, traceparent } } as unknown as RecordedEvent;
};
const request = (source: RecordedEvent) => ({ source }) as DeliveryRequest;

it('an event that asks for several deliveries has one span, which they are given', async () => {
  const { tracer, ended } = recorder();
  const event = approved(0, EVENTS);
  const given: unknown[] = [];
  await traceRelay(tracer, [request(event), request(event)], async (traceparentOf) => {
    given.push(traceparentOf(event));
    expect(ended()).toEqual([]);
  });
  expect(ended()).toEqual([
    {
      name: 'relay',
      attributes: { 'dynamic_assets.event.type': 'OrderApproved', 'dynamic_assets.deliveries': 2 },
      parent: 'b7ad6b7169203331',
      traceparent: expect.stringContaining(TRACE),
    },
  ]);
  expect(given).toEqual(ended().map(({ traceparent }) => traceparent));
});

it.each([
  ['of no trace', approved(0)],
  ['of an hour ago, which is relayed again', approved(61, EVENTS)],
])('an event %s makes none', async (_, event) => {
  const { tracer, ended } = recorder();
  await traceRelay(tracer, [request(event)], async (traceparentOf) => expect(traceparentOf(event)).toBeUndefined());
  expect(ended()).toEqual([]);
});

it('what fails in between is the failure of the span', async () => {
  const { tracer, ended } = recorder();
  const failure = new TypeError('the broker is away');
  await expect(traceRelay(tracer, [request(approved(0, EVENTS))], () => Promise.reject(failure))).rejects.toBe(failure);
  expect(ended()).toMatchObject([{ attributes: { 'error.type': 'TypeError' } }]);
});

import type { RecordedEvent } from '#app/ports/eventStore.js';
import type { SpanEnd, Tracer } from '#app/ports/tracing.js';
import type { DeliveryRequest } from '#app/webhooks/deliveryRequests.js';
import { traceRelay } from '#app/webhooks/spans.js';

const EVENTS = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const RELAYS = '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01';

/** Keeps what is begun in it and how it ends. */
class Recorder implements Tracer {
  readonly begun: (string | undefined)[] = [];
  readonly ended: SpanEnd[] = [];

  begin(_name: string, { traceparent }: Parameters<Tracer['begin']>[1]) {
    this.begun.push(traceparent);
    return { traceparent: RELAYS, end: (end: SpanEnd = {}) => void this.ended.push(end) };
  }
}

const approved = (minutesAgo: number, traceparent?: string) => {
  const occurredAt = new Date(Date.now() - minutesAgo * 60_000).toISOString();
  return { type: 'OrderApproved', metadata: { occurredAt, traceparent } } as unknown as RecordedEvent;
};
const request = (source: RecordedEvent) => ({ source }) as DeliveryRequest;

it('an event that asks for several deliveries has one span, which they are given', async () => {
  const tracer = new Recorder();
  const event = approved(0, EVENTS);
  const given: unknown[] = [];
  await traceRelay(tracer, [request(event), request(event)], async (traceparentOf) => {
    given.push(traceparentOf(event));
    expect(tracer.ended).toEqual([]);
  });
  expect({ ...tracer, given }).toEqual({
    begun: [EVENTS],
    ended: [{ attributes: { 'dynamic_assets.event.type': 'OrderApproved', 'dynamic_assets.deliveries': 2 } }],
    given: [RELAYS],
  });
});

it.each([
  ['of no trace', approved(0)],
  ['of an hour ago, which is relayed again', approved(61, EVENTS)],
])('an event %s makes none', async (_, event) => {
  const tracer = new Recorder();
  await traceRelay(tracer, [request(event)], async (traceparentOf) => expect(traceparentOf(event)).toBeUndefined());
  expect(tracer.begun).toEqual([]);
});

it('what fails in between is the failure of the span', async () => {
  const tracer = new Recorder();
  const failure = new Error('the broker is away');
  await expect(traceRelay(tracer, [request(approved(0, EVENTS))], () => Promise.reject(failure))).rejects.toBe(failure);
  expect(tracer.ended).toMatchObject([{ failure }]);
});

import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import { continueTrace, startSpan, traceparentOf } from '#app/ports/tracing.js';

const tracer = new BasicTracerProvider().getTracer('test');
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

const traceIdAfter = (traceparent: string | undefined) =>
  startSpan(tracer, traceparent, 'work', {}).spanContext().traceId;

// W3C Trace Context §3.2, §4.
it.each([`00-${TRACE}-${SPAN}-01`, `01-${TRACE}-${SPAN}-01-later`])(
  'a span continues the trace of %s',
  (traceparent) => {
    expect(traceIdAfter(traceparent)).toBe(TRACE);
  },
);

it.each([
  undefined,
  '',
  'nonsense',
  `ff-${TRACE}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-01-more`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
])('%s begins a new trace', (traceparent) => {
  expect(traceIdAfter(traceparent)).toMatch(/^(?!0af7)[\da-f]{32}$/);
});

it('a trace that the caller does not keep is not continued by events', () => {
  expect(traceparentOf(startSpan(tracer, `00-${TRACE}-${SPAN}-00`, 'work', {}))).toBeUndefined();
  expect(traceparentOf(startSpan(tracer, `00-${TRACE}-${SPAN}-01`, 'work', {}))).toMatch(`00-${TRACE}-`);
  expect(traceparentOf(undefined)).toBeUndefined();
});

it('without a tracer, or a trace to continue, there is no span', () => {
  expect(continueTrace(undefined, `00-${TRACE}-${SPAN}-01`, 'work', {})).toBeUndefined();
  expect(continueTrace(tracer, undefined, 'work', {})).toBeUndefined();
});

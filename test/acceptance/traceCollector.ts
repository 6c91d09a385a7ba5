/** Who takes traces: a real OTLP/HTTP receiver on loopback that keeps the spans it was sent. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

const value = z.union([
  z.strictObject({ stringValue: z.string() }).transform(({ stringValue }) => stringValue),
  z.strictObject({ intValue: z.int() }).transform(({ intValue }) => intValue),
  z.strictObject({ boolValue: z.boolean() }).transform(({ boolValue }) => boolValue),
]);
const attributes = z
  .array(z.object({ key: z.string(), value }))
  .transform((members) => Object.fromEntries(members.map((each) => [each.key, each.value])));
const nanoseconds = z.string().transform(BigInt);

const sentSpan = z.looseObject({
  traceId: z.string().regex(/^[0-9a-f]{32}$/),
  spanId: z.string().regex(/^[0-9a-f]{16}$/),
  parentSpanId: z.string().optional(),
  name: z.string(),
  kind: z.int(),
  startTimeUnixNano: nanoseconds,
  endTimeUnixNano: nanoseconds,
  attributes,
  status: z.looseObject({ code: z.int() }),
});
const sent = z.object({
  resourceSpans: z.array(z.object({ scopeSpans: z.array(z.object({ spans: z.array(sentSpan) })) })),
});

export type SentSpan = z.output<typeof sentSpan>;

/** Kinds in OTLP. */
export const KIND = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const;

/** A trace that a caller has begun, and the headers of a request that is to be part of it. */
export function callersTrace() {
  const traceId = randomBytes(16).toString('hex');
  const spanId = randomBytes(8).toString('hex');
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-01` } };
}

export class TraceCollector {
  /** Whether it takes what it is sent, or never answers. */
  manner: 'takes' | 'hangs' = 'takes';
  /** How often it was sent something. */
  calls = 0;
  readonly spans: SentSpan[] = [];
  readonly #server: Server;
  readonly #hears = new Set<() => void>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<TraceCollector> {
    const server = createServer();
    const collector = new TraceCollector(server);
    server.on('request', (incoming, answer) => {
      collector.calls += 1;
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        if (collector.manner === 'hangs') return;
        collector.#take(Buffer.concat(chunks).toString('utf8'));
        answer.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return collector;
  }

  /** Settings of a service that sends its traces here, soon. */
  get env(): { readonly [name: string]: string } {
    const { port } = this.#server.address() as AddressInfo;
    return { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, OTEL_BSP_SCHEDULE_DELAY: '50' };
  }

  /** Those of the spans that are looked for, as soon as they are enough. */
  async until(
    isWanted: (span: SentSpan) => boolean,
    isEnough: (found: readonly SentSpan[]) => boolean,
  ): Promise<readonly SentSpan[]> {
    for (;;) {
      const found = this.spans.filter(isWanted);
      if (isEnough(found)) return found;
      await new Promise<void>((resolve) => this.#hears.add(resolve));
    }
  }

  /** The spans of a trace, as soon as there is one of each of these names among them. */
  trace(traceId: string, ...names: readonly string[]): Promise<readonly SentSpan[]> {
    return this.until(
      (span) => span.traceId === traceId,
      (found) => names.every((name) => found.some((span) => span.name === name)),
    );
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #take(text: string): void {
    for (const { scopeSpans } of sent.parse(JSON.parse(text)).resourceSpans)
      this.spans.push(...scopeSpans.flatMap(({ spans }) => spans));
    for (const hear of this.#hears) hear();
    this.#hears.clear();
  }
}

/** The one span of this name. @throws Error when there is none, or more */
export function only(spans: readonly SentSpan[], name: string): SentSpan {
  const [span, ...others] = spans.filter((each) => each.name === name);
  if (span === undefined || others.length > 0) {
    throw new Error(`Not one span ${name}: ${spans.map((each) => each.name).join(', ')}`);
  }
  return span;
}

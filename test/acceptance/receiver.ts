/** An integrator's endpoint: a real HTTPS server on loopback that keeps what it was sent. */
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { certificate } from '../fixtures/certificate.js';

export type Call = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Milliseconds since the epoch. */
  readonly at: number;
};

/** What to answer to the nth call (from 1) of a path; undefined: nothing, ever. */
export type Reply = (nth: number) =>
  | {
      readonly status: number;
      readonly headers?: { readonly [name: string]: string };
      readonly body?: string;
      /** How long the receiver takes. */
      readonly afterMs?: number;
    }
  | undefined;

export class Receiver {
  /** PEM file of its certificate, for WEBHOOK_CA_FILE. */
  readonly caFile: string;
  readonly #server: Server;
  readonly #calls: Call[] = [];
  readonly #replies = new Map<string, Reply>();
  readonly #waiting = new Set<() => void>();

  private constructor(server: Server, caFile: string) {
    this.#server = server;
    this.caFile = caFile;
  }

  static async start(): Promise<Receiver> {
    const { key, cert, certFile } = certificate();
    const server = createServer({ key, cert });
    const receiver = new Receiver(server, certFile);
    server.on('request', (incoming, answer) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        const { method = '', url = '', headers } = incoming;
        const reply = receiver.#record({ method, path: url, headers, body: Buffer.concat(chunks), at: Date.now() });
        if (reply === undefined) return;
        const end = () => answer.writeHead(reply.status, reply.headers).end(reply.body ?? '{}');
        if (reply.afterMs === undefined) end();
        else setTimeout(end, reply.afterMs);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return receiver;
  }

  url(path: string): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  /** Answers calls of this path so from now on; 200 otherwise. */
  reply(path: string, reply: Reply): void {
    this.#replies.set(path, reply);
  }

  calls(path: string): readonly Call[] {
    return this.#calls.filter((call) => call.path === path);
  }

  /** Resolves to the calls of a path as soon as there are so many. */
  async received(path: string, count: number): Promise<readonly Call[]> {
    while (this.calls(path).length < count) await new Promise<void>((resolve) => this.#waiting.add(resolve));
    return this.calls(path);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #record(call: Call): ReturnType<Reply> {
    this.#calls.push(call);
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
    const reply = this.#replies.get(call.path);
    return reply === undefined ? { status: 200 } : reply(this.calls(call.path).length);
  }
}

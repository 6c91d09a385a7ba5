/** An integrator's endpoint: a real HTTPS server on loopback that keeps what it was sent. */
import { once } from 'node:events';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { certificate } from '../fixtures/certificate.js';

export type Call = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Milliseconds since the epoch. */
  readonly at: number;
};

/** Writes an answer, or to the socket the bytes of what may be none. */
export type Write = (response: ServerResponse, socket: Socket) => void;

/** What to answer to the nth call (from 1) of a path; undefined: nothing, ever. */
export type Reply = (
  nth: number,
  call: Call,
) =>
  | {
      readonly status: number;
      readonly headers?: { readonly [name: string]: string };
      readonly body?: string | Buffer;
      /** How long the receiver takes. */
      readonly afterMs?: number;
    }
  | Write
  | undefined;

export class Receiver {
  /** PEM file of its certificate, for WEBHOOK_CA_FILE. */
  readonly caFile: string;
  /** The same as text. */
  readonly caPem: string;
  /** Accepted so far. */
  connections = 0;
  readonly #server: Server;
  readonly #calls: Call[] = [];
  readonly #replies = new Map<string, Reply>();
  readonly #early = new Map<string, Write>();
  readonly #sockets = new Set<Socket>();
  readonly #waiting = new Set<() => void>();

  private constructor(name: Parameters<typeof certificate>[0]) {
    const { key, cert, certFile } = certificate(name);
    this.caFile = certFile;
    this.caPem = cert;
    this.#server = createServer({ key, cert, keepAliveTimeout: 0 });
    this.#server.on('connection', (socket: Socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      socket.once('close', () => {
        this.#sockets.delete(socket);
        this.#wake();
      });
    });
    this.#server.on('request', (incoming, answer) => {
      const { method = '', url: path = '', headers } = incoming;
      const early = this.#early.get(path);
      early?.(answer, incoming.socket);
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        const reply = this.#record({ method, path, headers, body: Buffer.concat(chunks), at: Date.now() });
        if (early !== undefined || reply === undefined) return;
        if (typeof reply === 'function') {
          reply(answer, incoming.socket);
          return;
        }
        const end = () => answer.writeHead(reply.status, reply.headers).end(reply.body ?? '{}');
        if (reply.afterMs === undefined) end();
        else setTimeout(end, reply.afterMs);
      });
    });
  }

  /** @param name of its certificate: `other` is one that nobody trusts */
  static async start(name?: 'other'): Promise<Receiver> {
    const receiver = new Receiver(name);
    await receiver.#listen();
    return receiver;
  }

  /** One for all tests of a file, started before them and stopped after them. */
  static ofTests(): Receiver {
    const receiver = new Receiver('localhost');
    beforeAll(() => receiver.#listen());
    afterAll(() => receiver.stop());
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(path: string): string {
    return `https://127.0.0.1:${this.port}${path}`;
  }

  /** Answers calls of this path so from now on; 200 otherwise. */
  reply(path: string, reply: Reply): void {
    this.#replies.set(path, reply);
  }

  /** Answers calls of this path so, as soon as the head of the request has come. */
  replyEarly(path: string, write: Write): void {
    this.#early.set(path, write);
  }

  calls(path: string): readonly Call[] {
    return this.#calls.filter((call) => call.path === path);
  }

  /** Resolves to the calls of a path as soon as there are so many. */
  async received(path: string, count: number): Promise<readonly Call[]> {
    await this.#until(() => this.calls(path).length >= count);
    return this.calls(path);
  }

  /** Resolves when this many connections were closed. */
  closed(count: number): Promise<void> {
    return this.#until(() => this.connections - this.#sockets.size >= count);
  }

  /** Resets all connections (RST). */
  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  async #until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  #record(call: Call): ReturnType<Reply> {
    this.#calls.push(call);
    this.#wake();
    const reply = this.#replies.get(call.path);
    return reply === undefined ? { status: 200 } : reply(this.calls(call.path).length, call);
  }
}

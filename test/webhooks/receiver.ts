/** An integrator's endpoint: a real HTTPS server on the loopback address that records its requests. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { certificate } from '../fixtures/certificate.js';

export type ReceivedCall = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
};

export type Answer = (response: ServerResponse, call: ReceivedCall) => void;

export type Receiver = {
  readonly url: string;
  readonly port: number;
  /** PEM of its self-signed certificate. */
  readonly caPem: string;
  readonly calls: ReceivedCall[];
  /** Accepted TCP connections. */
  connections: number;
  /** Answers in turn; the last one repeats. */
  answers: Answer[];
  /** Resolves when this many calls have come. */
  arrived(count: number): Promise<void>;
  close(): Promise<void>;
};

export const status =
  (code: number, headers: Record<string, string> = {}, body = ''): Answer =>
  (response) =>
    response.writeHead(code, headers).end(body);

/** Takes the call and never answers. */
export const hang: Answer = () => undefined;

export async function startReceiver(...answers: Answer[]): Promise<Receiver> {
  const { key, cert } = certificate();
  const waiting: { count: number; resolve: () => void }[] = [];
  const server = createServer({ key, cert }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      const call = { method, path, headers, body: Buffer.concat(chunks) };
      const answer = receiver.answers[Math.min(receiver.calls.length, receiver.answers.length - 1)];
      receiver.calls.push(call);
      answer?.(response, call);
      for (const { count, resolve } of waiting) if (receiver.calls.length >= count) resolve();
    });
  });
  server.on('connection', () => {
    receiver.connections += 1;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `https://127.0.0.1:${port}/orders`,
    port,
    caPem: cert,
    calls: [],
    connections: 0,
    answers,
    arrived: (count) =>
      new Promise((resolve) => {
        if (receiver.calls.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return receiver;
}

export type RawReceiver = Pick<Receiver, 'url' | 'caPem' | 'connections' | 'close'> & {
  /** Resolves when this many connections were closed. */
  closed(count: number): Promise<void>;
  /** Resets all connections (RST). */
  reset(): void;
};

/**
 * A server that writes the bytes of its answers itself.
 * @param answer to a complete request, or to its first part
 */
export async function startRawReceiver(
  answer: (socket: TLSSocket) => void,
  when: 'all' | 'begun' = 'all',
): Promise<RawReceiver> {
  const { key, cert } = certificate();
  const sockets = new Set<TLSSocket>();
  const server = createTlsServer({ key, cert }, (socket) => {
    receiver.connections += 1;
    sockets.add(socket);
    let request = '';
    let isAnswered = false;
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      request += chunk.toString('latin1');
      const [head = '', body] = request.split('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
      const isWhole = body !== undefined && body.length >= length;
      if (!isAnswered && (isWhole || when === 'begun')) {
        isAnswered = true;
        answer(socket);
      }
      if (isWhole) {
        request = '';
        isAnswered = false;
      }
    });
    socket.on('close', () => {
      sockets.delete(socket);
      closed += 1;
      for (const each of waiting.filter(({ count }) => closed >= count)) each.resolve();
    });
  });
  let closed = 0;
  const waiting: { count: number; resolve: () => void }[] = [];
  const below = new Set<Socket>();
  server.on('connection', (socket: Socket) => below.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const receiver: RawReceiver = {
    url: `https://127.0.0.1:${port}/orders`,
    caPem: cert,
    connections: 0,
    closed: (count) =>
      new Promise((resolve) => {
        if (closed >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    reset: () => {
      for (const socket of below) socket.resetAndDestroy();
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return receiver;
}

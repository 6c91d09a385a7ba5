/** The HTTP server: its limits, the requests that it refuses before express sees them, and its stop. */
import { once } from 'node:events';
import { createServer, IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Express } from 'express';
import express from 'express';
import { MAX_HEADER_BYTES } from '../domain/limits.js';
import { nextTurn } from '../supervision/waiting.js';

type HttpServer = {
  readonly port: number;
  /**
   * Accepts no more connections, lets requests in flight finish, and closes idle connections. Cuts the rest after
   * `graceMs` (default 10 seconds). Resolves when all connections are closed.
   */
  stop(graceMs?: number): Promise<void>;
};

// Longer than proxies keep idle connections (up to a minute): the server must not close them first.
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** For a request to arrive, its header fields in a sixth of it. The time to answer it is a setting. */
const ARRIVAL_TIMEOUT_MS = 120_000;
const DEFAULT_GRACE_MS = 10_000;
const IDLE_CLOSING_MS = 50;

type ListenOptions = { readonly host: string; readonly port: number; readonly arrivalMs?: number };

/** @throws Error (EADDRINUSE, EACCES, …) if the address is not available */
export async function startHttpServer(
  listener: RequestListener,
  { host, port, arrivalMs = ARRIVAL_TIMEOUT_MS }: ListenOptions,
): Promise<HttpServer> {
  const server = createServer(
    // Hosts are checked here: the server's own refusal has no body.
    {
      requestTimeout: arrivalMs,
      headersTimeout: arrivalMs / 6,
      connectionsCheckingInterval: arrivalMs / 24,
      maxHeaderSize: MAX_HEADER_BYTES,
      requireHostHeader: false,
      IncomingMessage: ApiRequest,
      ServerResponse: ApiResponse,
    },
    (req, res) => {
      const reason = isForOneHost(req) ? (isPath(req) ? undefined : NO_PATH) : 'One Host header is needed.';
      res.on('prefinish', () => throwRestAway(req));
      if (reason === undefined) listener(req, res);
      else refuse(req.socket, '400 Bad Request', reason);
    },
  );
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
  server.on('clientError', (error: Error & { readonly code?: string }, socket) => {
    // The client has closed the connection, in the middle of a request, which is logged as such.
    if (['ECONNRESET', 'HPE_INVALID_EOF_STATE'].includes(error.code ?? '') || !socket.writable) socket.destroy();
    else refuse(socket, ...(UNREADABLE[error.code ?? ''] ?? OTHERWISE_UNREADABLE));
  });
  server.on('connect', (_req, socket) => {
    // The server does not manage a connection after a CONNECT request.
    socket.on('error', () => socket.destroy()).on('finish', () => socket.destroy());
    refuse(socket, '501 Not Implemented', 'This service is not a proxy.');
  });
  server.listen(port, host);
  await once(server, 'listening');
  let stopped: Promise<void> | undefined;
  return {
    port: (server.address() as AddressInfo).port,
    stop: (graceMs = DEFAULT_GRACE_MS) => {
      stopped ??= stopServer(server, graceMs);
      return stopped;
    },
  };
}

/**
 * Reads what an answer leaves of a body piece by piece. Node reads up to 2 MB of each connection at once: 200 refused batches
 * of 4 MB held the event loop for 300 ms.
 */
function throwRestAway(req: IncomingMessage): void {
  if (req.complete) return;
  req.on('data', () => {
    req.pause();
    void nextTurn().then(() => req.resume());
  });
}

/** In the form of spec §7. No handler has seen the request, so the connection ends. */
function refuse(socket: Duplex, status: string, reason: string): void {
  const body = JSON.stringify({ message: status.slice(4), error: reason });
  const head = `Content-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}`;
  socket.end(`HTTP/1.1 ${status}\r\n${head}\r\nConnection: close\r\n\r\n${body}`);
}

const UNREADABLE: { readonly [code: string]: readonly [status: string, reason: string] } = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The header fields are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive.'],
};
const OTHERWISE_UNREADABLE = ['400 Bad Request', 'The request is not valid HTTP.'] as const;

const NO_PATH = 'The target of a request is a path; the Host header names the host.';
const isPath = ({ url = '', method }: IncomingMessage): boolean =>
  url.startsWith('/') || (url === '*' && method === 'OPTIONS');

/** HTTP/1.1 requires exactly one Host (RFC 9112 §3.2). With two, a proxy in front may have used the other one. */
function isForOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length;
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0');
}

async function stopServer(server: Server, graceMs: number): Promise<void> {
  server.prependListener('request', (_req, res) => res.setHeader('Connection', 'close'));
  // A busy connection becomes idle when its answer is sent.
  const closing = setInterval(() => server.closeIdleConnections(), IDLE_CLOSING_MS);
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  try {
    server.close();
    await once(server, 'close');
  } finally {
    clearInterval(closing);
    clearTimeout(cut);
  }
}

/**
 * Requests and responses that have express's prototypes from the start. express changes the prototype of each object it is
 * handed, and V8 handles an object with a changed prototype slowly: a small answer took twice as long, and its objects
 * survived more garbage collections.
 */
class ApiRequest extends IncomingMessage {}
class ApiResponse extends ServerResponse<ApiRequest> {}

Object.setPrototypeOf(ApiRequest.prototype, express.request);
Object.setPrototypeOf(ApiResponse.prototype, express.response);

/** Sets the application of all requests and responses from now on. A process has one application at a time. */
export function useExpressPrototypes(app: Express): void {
  Object.assign(app, {
    request: Object.assign(ApiRequest.prototype, { app }),
    response: Object.assign(ApiResponse.prototype, { app }),
  });
}

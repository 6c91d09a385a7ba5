/** The HTTP server: its limits, the requests that it refuses before express sees them, and its stop. */
import { once } from 'node:events';
import { createServer, IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import { type AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Express } from 'express';
import express from 'express';
import { MAX_HEADER_BYTES } from '../domain/limits.js';
import { parsedAddress } from './senderAddress.js';
import { isHost } from './tenantHost.js';

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
const HEADERS_TIMEOUT_MS = 20_000;
/** For a request to arrive. The time to answer it is a setting. */
const ARRIVAL_TIMEOUT_MS = 120_000;
const DEFAULT_GRACE_MS = 10_000;
const IDLE_CLOSING_MS = 50;

export type Listening = {
  readonly host: string;
  readonly port: number;
  /** Whether a trusted proxy forwards requests. */
  readonly isBehindProxy?: boolean;
  /** Called for each request that is refused before it reaches the listener. */
  readonly onRefused?: (request: RefusedRequest) => void;
};

type RefusedRequest = { readonly status: number; readonly reason: string; readonly address: string | undefined };

/** @throws Error (EADDRINUSE, EACCES, …) if the address is not available */
export async function startHttpServer(
  listener: RequestListener,
  { host, port, isBehindProxy = false, onRefused = () => {} }: Listening,
): Promise<HttpServer> {
  const refuse = (res: ServerResponse, ...refusal: Refusal): void => {
    onRefused(refused(res.req.socket, refusal));
    answerRefusal(res, ...refusal);
  };
  const refuseOn = (socket: Duplex, ...refusal: Refusal): void => {
    onRefused(refused(socket, refusal));
    answerOn(socket, ...refusal);
  };
  const serve: RequestListener = (req, res) => {
    const refusal = isForOneHost(req) ? normalizeTarget(req, isBehindProxy) : ONE_HOST;
    if (refusal === undefined) listener(req, res);
    else refuse(res, ...refusal);
  };
  const server = createServer(
    // Hosts are checked here: the server's own refusal has no body.
    {
      requestTimeout: ARRIVAL_TIMEOUT_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      requireHostHeader: false,
      IncomingMessage: ApiRequest,
      ServerResponse: ApiResponse,
    },
    serve,
  );
  // If the body is not read, the server closes the connection after the answer.
  server.on('checkContinue', serve);
  server.on('checkExpectation', (_req, res) =>
    refuse(res, '417 Expectation Failed', 'The only expectation that can be met is 100-continue.'),
  );
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
  server.on('clientError', (error: Error & { readonly code?: string }, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    // The client closed the connection in the middle of a request, which is logged as such.
    else if (error.code === 'HPE_INVALID_EOF_STATE') answerOn(socket, ...OTHERWISE_UNREADABLE);
    else refuseOn(socket, ...(UNREADABLE[error.code ?? ''] ?? OTHERWISE_UNREADABLE));
  });
  server.on('connect', (_req, socket) => {
    // The server does not manage a connection after a CONNECT request.
    socket.on('error', () => socket.destroy()).on('finish', () => socket.destroy());
    refuseOn(socket, '501 Not Implemented', 'This service is not a proxy.');
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

/** Status line, and why. */
type Refusal = readonly [status: string, reason: string];

const refused = (socket: Duplex, [status, reason]: Refusal): RefusedRequest => ({
  status: Number(status.slice(0, 3)),
  reason,
  address: socket instanceof Socket ? parsedAddress(socket.remoteAddress ?? '')?.toString() : undefined,
});

const UNREADABLE: { readonly [code: string]: Refusal } = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The header fields are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive.'],
};
const ONE_HOST = ['400 Bad Request', 'One Host header is needed.'] as const;
const OTHERWISE_UNREADABLE = ['400 Bad Request', 'The request is not valid HTTP.'] as const;

/** HTTP/1.1 requires exactly one Host (RFC 9112 §3.2). With two, a proxy in front may have used the other one. */
function isForOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0');
}

/** Refuses a request before any handler sees it, in the form of spec §7. */
function answerRefusal(res: ServerResponse, status: string, error: string): void {
  const body = JSON.stringify({ message: status.slice(4), error });
  res.writeHead(Number(status.slice(0, 3)), { 'Content-Type': 'application/json; charset=utf-8', Connection: 'close' });
  res.end(body);
}

/** Refuses a request that cannot be parsed as HTTP, in the form of spec §7. */
function answerOn(socket: Duplex, status: string, reason: string): void {
  const body = JSON.stringify({ message: status.slice(4), error: reason });
  const head = `Content-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}`;
  socket.end(`HTTP/1.1 ${status}\r\n${head}\r\nConnection: close\r\n\r\n${body}`);
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

const ABSOLUTE = /^([a-z][a-z\d+.-]*):\/\/([^/?#]*)(\/[^?#]*)?(\?[^#]*)?$/i;

/** Escapes of unreserved characters; a path means the same without them (RFC 3986 §6.2.2.2). */
const NEEDLESS_ESCAPE = /%(?:2[de]|3\d|4[1-9a-f]|5[\daf]|6[1-9a-f]|7[\dae])/gi;

/**
 * Changes `url` and `headers.host`. An absolute target overrides the Host field (RFC 9112 §3.2.2); `OPTIONS *` stays.
 * @param isBehindProxy whether a trusted proxy may terminate TLS: only then can a target be `https`
 */
function normalizeTarget(req: IncomingMessage, isBehindProxy: boolean): Refusal | undefined {
  const { url = '', method, headers } = req;
  if (url.startsWith('/')) {
    if (url.includes('%')) req.url = withoutNeedlessEscapes(url);
    return undefined;
  }
  if (url === '*' && method === 'OPTIONS') return undefined;
  const [, scheme = '', authority = '', path = '/', query = ''] = ABSOLUTE.exec(url) ?? [];
  if (!isHost(authority) || (headers.host && !isHost(headers.host)))
    return ['400 Bad Request', 'The target of a request is a path, or an http URL with a host and a path.'];
  const schemes = isBehindProxy ? ['http', 'https'] : ['http'];
  if (!schemes.includes(scheme.toLowerCase()))
    return ['421 Misdirected Request', `This connection is for ${schemes.join(' and ')} URLs.`];
  headers.host = authority;
  req.url = withoutNeedlessEscapes(`${path}${query}`);
  return undefined;
}

function withoutNeedlessEscapes(url: string): string {
  const at = url.indexOf('?');
  const end = at < 0 ? url.length : at;
  return url.slice(0, end).replace(NEEDLESS_ESCAPE, decodeURIComponent) + url.slice(end);
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

/** Makes one attempt at a receiver: verified TLS, checked address, limits on time and size, no redirects. */

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Agent, request as send } from 'node:https';
import type { Socket } from 'node:net';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import { cutText, shownName } from '../domain/shownName.js';
import type { AttemptResult } from '../domain/webhook/delivery.js';
import type { Attempted } from '../domain/webhook/events.js';
import { type LookUpAll, NameServersSilentError, receiverLookUp } from './receiverLookup.js';
import { type AddressPolicy, checkedLookup, checkLiteral, portOf, RefusedAddressError } from './targetAddress.js';

export type WebhookRequest = {
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: Uint8Array;
};

export interface WebhookTransport {
  /** Sends one POST. Never rejects: every problem is a failed attempt with its reason. */
  post(request: WebhookRequest): Promise<AttemptResult>;
  /** Closes all connections. Attempts in flight fail. */
  close(): Promise<void>;
}

export type TransportOptions = {
  readonly policy: AddressPolicy;
  /** PEM of certificate authorities that are trusted beside the usual ones (WEBHOOK_CA_FILE). */
  readonly caPem?: string;
  /** Limit for name lookup, connection and TLS handshake (ms). Default 5,000. */
  readonly connectTimeoutMs?: number;
  /** Limit for the whole attempt (ms). Default 15,000. */
  readonly totalTimeoutMs?: number;
  readonly lookUp?: LookUpAll;
};

const CONNECT_TIMEOUT_MS = 5_000;
const TOTAL_TIMEOUT_MS = 15_000;
const KEEP_ALIVE_MS = 10_000;
/** Limit for an answer's status line and header fields, and for those of each interim answer. */
const MAX_ANSWER_HEADER_BYTES = 16 * 1024;
/** Answers such as 100 Continue and 103 Early Hints may precede the final one (RFC 9110 §15.2). */
const MAX_INTERIM_ANSWERS = 20;
/** Limit for reading an answer's body to its end, so that the connection can be used again. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** Limit for the part of the body that is kept. */
const KEPT_ANSWER_BYTES = 4096;
/** Limit for the names and values of the header fields that are kept. */
const KEPT_HEADER_BYTES = 2_048;
/** A reason may quote a certificate, which may say anything at any length, such as all its names. */
const MAX_REASON_CHARACTERS = 300;

/** @throws Error when `caPem` holds no certificate */
export function createHttpsTransport(options: TransportOptions): WebhookTransport {
  const agent = new Agent({
    keepAlive: true,
    timeout: KEEP_ALIVE_MS,
    rejectUnauthorized: true,
    // Created once: a context with the root certificates is too costly to create for each connection.
    secureContext: trust(options.caPem),
  });
  const answers = new WeakMap<Socket, IncomingMessage>();
  return {
    post: (request) => post(request, { ...options, agent, answers }),
    close: async () => agent.destroy(),
  };
}

function trust(caPem: string | undefined): SecureContext {
  if (caPem === undefined) return createSecureContext();
  // A text without any certificate would be accepted silently.
  new X509Certificate(caPem);
  // `ca` replaces what Node trusts.
  const { NODE_EXTRA_CA_CERTS: extra } = process.env;
  return createSecureContext({ ca: [...rootCertificates, ...(extra ? [readFileSync(extra, 'utf8')] : []), caPem] });
}

type Client = TransportOptions & {
  readonly agent: Agent;
  /** The latest answer of each connection. */
  readonly answers: WeakMap<Socket, IncomingMessage>;
};

async function post(request: WebhookRequest, client: Client): Promise<AttemptResult> {
  const { totalTimeoutMs = TOTAL_TIMEOUT_MS } = client;
  const startedAt = performance.now();
  const durationMs = (): number => Math.round(performance.now() - startedAt);
  const signal = AbortSignal.timeout(totalTimeoutMs);
  try {
    const answer = await exchange(request, client, signal);
    const { statusCode: status = 0 } = answer;
    const responseHeaders = keptHeaders(answer);
    const told = { status, responseHeaders, responseBody: await beginningOf(answer), durationMs: durationMs() };
    if (status >= 200 && status < 300) return { ok: true, ...told };
    const asked = retryAfterMs(answer.headers['retry-after'], Date.now());
    return { ok: false, reason: reasonOf(status), ...told, ...(asked !== undefined && { retryAfterMs: asked }) };
  } catch (error) {
    const reason = signal.aborted ? `no answer within ${totalTimeoutMs} ms` : describe(error);
    const cause = signal.aborted ? 'timeout' : causeOf(error);
    return { ok: false, reason, status: null, durationMs: durationMs(), responseBody: null, ...(cause && { cause }) };
  }
}

/** Sends the request; resolves when the final answer has begun. An answer may arrive before the whole request was sent. */
function exchange(
  { url, headers, body }: WebhookRequest,
  { policy, lookUp = receiverLookUp, connectTimeoutMs = CONNECT_TIMEOUT_MS, agent, answers }: Client,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const target = new URL(url);
    const port = portOf(target);
    checkLiteral(policy, target.hostname, port);
    const request = send(target, {
      method: 'POST',
      agent,
      lookup: checkedLookup(policy, port, lookUp),
      headers: { ...headers, 'Content-Length': String(body.byteLength) },
      maxHeaderSize: MAX_ANSWER_HEADER_BYTES,
      signal,
    });
    request.once('socket', (socket) => {
      answers.delete(socket);
      if (request.reusedSocket) return;
      // Unrequested data would be read as the start of the next answer. Before the parser's listener, which ends an answer.
      socket.prependListener('data', () => {
        if (answers.get(socket)?.complete === true) socket.destroy();
      });
      const noConnection = `no connection within ${connectTimeoutMs} ms`;
      const timer = setTimeout(() => request.destroy(new ConnectTimeoutError(noConnection)), connectTimeoutMs);
      for (const event of ['close', 'secureConnect']) socket.once(event, () => clearTimeout(timer));
    });
    let interim = 0;
    request.on('information', () => {
      interim += 1;
      if (interim <= MAX_INTERIM_ANSWERS) return;
      // Rejects at once: the same packet may hold the final answer behind them.
      reject(new Error(`more than ${MAX_INTERIM_ANSWERS} interim answers (HTTP 1xx) and no final one`));
      request.destroy();
    });
    request.once('response', (answer) => {
      answers.set(answer.socket, answer);
      // What follows 101 Switching Protocols is no HTTP.
      if (answer.statusCode === 101) answer.socket.destroy();
      // Answered before all of it was sent: the rest is not sent, so the connection cannot be used again.
      answer.once('end', () => {
        if (!request.writableFinished) request.destroy();
      });
      resolve(answer);
    });
    // Also after the answer: errors behind it are of no interest.
    request.on('error', reject);
    // Without an error where the receiver switched protocols.
    request.once('close', () => reject(new Error('the connection was closed before there was an answer')));
    request.end(body);
  });
}

class ConnectTimeoutError extends Error {}

function causeOf(error: unknown): 'timeout' | 'refused_address' | undefined {
  if (error instanceof RefusedAddressError) return 'refused_address';
  const isTimeout = error instanceof ConnectTimeoutError || error instanceof NameServersSilentError;
  return isTimeout ? 'timeout' : undefined;
}

/** The header fields for the delivery log, as many as fit; not cookies, which open sessions. */
function keptHeaders({ headers }: IncomingMessage): NonNullable<Attempted['responseHeaders']> {
  let left = KEPT_HEADER_BYTES;
  return Object.entries(headers).flatMap(([name, value = '']) => {
    const bytes = Buffer.byteLength(name + value);
    if (name === 'set-cookie' || bytes > left) return [];
    left -= bytes;
    return [[name, String(value)]];
  });
}

/**
 * The beginning of the body as text, for the delivery log. Only the status line decides: a body that ends early or
 * never does not turn the answer into a failure.
 */
async function beginningOf(body: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= MAX_ANSWER_BYTES) break;
    }
  } catch {
    // The part that arrived is kept.
  }
  // No coding was asked for.
  const coding = body.headers['content-encoding'];
  if (coding !== undefined && coding !== 'identity') return `<${shownName(coding)}, ${length} bytes>`;
  // `stream` drops a character that the limit has cut in two.
  return new TextDecoder().decode(Buffer.concat(chunks).subarray(0, KEPT_ANSWER_BYTES), { stream: true });
}

/** The reason for a status other than 2xx. */
function reasonOf(status: number): string {
  if (status === 410) return 'HTTP 410 Gone';
  return status >= 300 && status < 400 ? `redirect (HTTP ${status}) is not followed` : `HTTP ${status}`;
}

/** The reason of a failed attempt in one line, as the order shows it. OpenSSL's messages name its source files. */
function describe(error: unknown): string {
  // One error for each address of the name.
  const [first = error]: readonly unknown[] = error instanceof AggregateError ? error.errors : [];
  const { reason, message = first } = Object(first);
  const text = typeof reason === 'string' && reason !== '' ? reason : String(message);
  return cutText(text.replaceAll(/\s+/g, ' '), MAX_REASON_CHARACTERS);
}

/**
 * Reads `Retry-After` (RFC 9110 §10.2.3), seconds or an HTTP date, as milliseconds after `nowMs`. Undefined if it is
 * missing or unreadable.
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim();
  if (text === undefined || text === '') return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}

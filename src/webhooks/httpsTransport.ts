/** Makes one attempt at a receiver: verified TLS, checked address, limits on time and size, no redirects. */
import { X509Certificate } from 'node:crypto';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import { Agent, buildConnector, type Dispatcher, errors, request as send } from 'undici';
import type { AttemptResult } from '../domain/webhook/delivery.js';
import { type LookUpAll, NameServersSilentError, receiverLookUp } from './receiverLookup.js';
import { type AddressPolicy, checkedLookup, checkLiteral, portOf, RefusedAddressError } from './targetAddress.js';

export type WebhookRequest = {
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: Uint8Array;
};

export interface WebhookTransport {
  /** One POST. Never rejects: whatever goes wrong is a failed attempt with its reason. */
  post(request: WebhookRequest): Promise<AttemptResult>;
  close(): Promise<void>;
}

export type TransportOptions = {
  readonly policy: AddressPolicy;
  /** PEM text of certificate authorities trusted beside the usual ones (WEBHOOK_CA_FILE). */
  readonly caPem?: string;
  /** Name lookup, connection and TLS handshake. Default 5,000. */
  readonly connectTimeoutMs?: number;
  /** The whole attempt. Default 15,000. */
  readonly totalTimeoutMs?: number;
  readonly lookUp?: LookUpAll;
};

const CONNECT_TIMEOUT_MS = 5_000;
const TOTAL_TIMEOUT_MS = 15_000;
const KEEP_ALIVE_MS = 10_000;
/** What is read of an answer's body, so that the connection can be used again. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** What is kept of it. */
const KEPT_ANSWER_BYTES = 1024;

/** @throws Error when `caPem` holds no certificate */
export function createHttpsTransport(options: TransportOptions): WebhookTransport {
  const totalTimeoutMs = options.totalTimeoutMs ?? TOTAL_TIMEOUT_MS;
  const agent = new Agent({ connect: checkedConnector(options), keepAliveTimeout: KEEP_ALIVE_MS });
  return {
    post: (request) => post(agent, request, totalTimeoutMs),
    close: () => agent.close(),
  };
}

/** Connects to nothing but what the policy lets pass, and only over verified TLS. */
function checkedConnector({ policy, caPem, connectTimeoutMs, lookUp }: TransportOptions): buildConnector.connector {
  // Made once: a context with the root certificates is costly to make for each connection.
  const secureContext = trust(caPem);
  const connectors = new Map<number, buildConnector.connector>();
  /** A lookup does not get the port that it is made for, so each port has a connector of its own. */
  const connectorFor = (port: number): buildConnector.connector => {
    const connector =
      connectors.get(port) ??
      buildConnector({
        timeout: connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
        lookup: checkedLookup(policy, port, lookUp ?? receiverLookUp),
        rejectUnauthorized: true,
        secureContext,
      });
    connectors.set(port, connector);
    return connector;
  };
  return (target, callback) => {
    const port = portOf(target);
    try {
      if (target.protocol !== 'https:') throw new RefusedAddressError('Only HTTPS is spoken.');
      checkLiteral(policy, target.hostname, port);
    } catch (error) {
      return callback(error instanceof Error ? error : new Error(String(error)), null);
    }
    connectorFor(port)(target, callback);
  };
}

function trust(caPem: string | undefined): SecureContext {
  if (caPem === undefined) return createSecureContext();
  // A text without any certificate would be accepted silently.
  new X509Certificate(caPem);
  return createSecureContext({ ca: [...rootCertificates, caPem] });
}

async function post(agent: Agent, request: WebhookRequest, totalTimeoutMs: number): Promise<AttemptResult> {
  const startedAt = performance.now();
  const durationMs = (): number => Math.round(performance.now() - startedAt);
  const signal = AbortSignal.timeout(totalTimeoutMs);
  let isBegun = false;
  const begin = (): void => {
    isBegun = true;
  };
  try {
    const answer = await send(request.url, {
      method: 'POST',
      dispatcher: agent.compose(noticing(begin)),
      headers: request.headers,
      body: request.body,
      signal,
    });
    const responseBody = await firstPart(answer.body);
    const status = answer.statusCode;
    if (status >= 200 && status < 300) return { ok: true, status, durationMs: durationMs(), responseBody };
    const reason = status >= 300 && status < 400 ? `redirect (HTTP ${status}) is not followed` : `HTTP ${status}`;
    const asked = retryAfterMs(answer.headers['retry-after'], Date.now());
    const failed = { ok: false, reason, status, durationMs: durationMs(), responseBody } as const;
    return asked === undefined ? failed : { ...failed, retryAfterMs: asked };
  } catch (error) {
    const reason = signal.aborted ? `no answer within ${totalTimeoutMs} ms` : describe(error);
    const sent = isBegun ? {} : ({ notSent: true } as const);
    const failed = { ok: false, reason, status: null, durationMs: durationMs(), responseBody: null, ...sent } as const;
    const cause = signal.aborted ? 'timeout' : causeOf(error);
    return cause === undefined ? failed : { ...failed, cause };
  }
}

/** Calls `begin` when a connection is there and the request is about to be written to it. */
const noticing =
  (begin: () => void): Dispatcher.DispatcherComposeInterceptor =>
  (dispatch) =>
  (options, handler) => {
    const start = handler.onRequestStart;
    handler.onRequestStart = (...given) => {
      begin();
      start?.apply(handler, given);
    };
    return dispatch(options, handler);
  };

function causeOf(error: unknown): 'timeout' | 'refused_address' | undefined {
  if (error instanceof RefusedAddressError) return 'refused_address';
  const isTimeout = error instanceof errors.ConnectTimeoutError || error instanceof NameServersSilentError;
  return isTimeout ? 'timeout' : undefined;
}

/**
 * The first KiB of the body as text. Only the status line counts, the body is for the delivery log: one that ends early
 * or never does not turn the answer into a failure.
 */
async function firstPart(body: Dispatcher.ResponseData['body']): Promise<string> {
  const kept: Uint8Array[] = [];
  let read = 0;
  try {
    for await (const chunk of body) {
      const bytes: Uint8Array = Buffer.from(chunk);
      if (read < KEPT_ANSWER_BYTES) kept.push(bytes.subarray(0, KEPT_ANSWER_BYTES - read));
      read += bytes.length;
      if (read >= MAX_ANSWER_BYTES) break;
    }
  } catch {
    // Cut off or out of time: what has come is kept.
  }
  // `stream` leaves out a character that the limit has cut in two.
  return new TextDecoder().decode(Buffer.concat(kept), { stream: true });
}

/** The reason of a failed attempt in one line, as the order shows it. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return describe(error.errors[0]);
  if (error instanceof RefusedAddressError) return error.message;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return code === undefined || error.message.includes(code) ? error.message : `${error.message} (${code})`;
}

/**
 * `Retry-After` (RFC 9110 §10.2.3), seconds or an HTTP date, as milliseconds from `nowMs` on; undefined when
 * there is none or it cannot be read.
 */
export function retryAfterMs(header: string | string[] | undefined, nowMs: number): number | undefined {
  const text = (Array.isArray(header) ? header[0] : header)?.trim();
  if (text === undefined || text === '') return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}

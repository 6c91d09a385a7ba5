/** State of one request, created by the first middleware, which also counts, logs and traces the request. */
import { randomUUID } from 'node:crypto';
import { type Span, SpanKind, type Tracer } from '@opentelemetry/api';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { type Caller, RequestDeadline } from '../commands/context.js';
import type { Tenant } from '../domain/identity/directory.js';
import type { User } from '../domain/identity/events.js';
import type { Permission } from '../domain/identity/scopes.js';
import type { Actor } from '../ports/eventStore.js';
import { failSpan, startSpan, traceparentOf } from '../ports/tracing.js';
import { DeadlineError } from '../supervision/deadline.js';
import type { ServiceMetrics } from './metrics.js';

/** Characters of a request's path in a line of the log, and in the metadata of the events that it causes. */
const MAX_PATH = 256;

declare global {
  namespace Express {
    interface Request {
      /** Set by the first middleware. */
      context: RequestContext;
    }
  }
}

/**
 * Handlers are cancelled this long before the request's timeout, so that they can still report whether they have
 * written.
 */
export const ANSWER_MS = 250;

/** Who sent a request, and what they may do. Their tenant is the request's: it is known, and has limits, before anyone is. */
export type Principal = {
  readonly actor: Actor;
  readonly permissions: ReadonlySet<Permission>;
  /** Undefined for API clients and operators. */
  readonly user?: User;
  readonly sessionId?: string;
};

class RequestContext {
  readonly startedAt = performance.now();
  readonly deadline: RequestDeadline;
  /** Path under which the router that serves the request is mounted, for metrics. */
  mount = '';
  /** Answers an error as the area that serves the request does; undefined before the first area. */
  fail: ((error: unknown) => void) | undefined;
  /** Undefined before authentication. */
  principal: Principal | undefined;
  /** Span of the whole request; undefined if tracing is off. */
  span: Span | undefined;
  /** Bytes of the answer's body as sent; 0 before that, and without a body. */
  answerBytes = 0;
  #tenant: Tenant | undefined;
  #hasEnded = false;
  readonly #atEnd: (() => void)[] = [];

  /** Made here: ids chosen by clients are not unique, so they must not be in the audit trail. */
  readonly requestId = randomUUID();

  /** @param timeoutMs time limit of the answer */
  constructor(
    private readonly req: Request,
    timeoutMs: number,
  ) {
    const tookTooLong = () => new DeadlineError(`It was given up after ${timeoutMs / 1000} s.`);
    this.deadline = new RequestDeadline(timeoutMs - ANSWER_MS, tookTooLong);
  }

  /** Calls this when the answer is sent or the client has disconnected; immediately if that has happened. */
  atEnd(act: () => void): void {
    if (this.#hasEnded) act();
    else this.#atEnd.push(act);
  }

  end(): void {
    this.#hasEnded = true;
    for (const act of this.#atEnd.splice(0)) act();
  }

  set tenant(tenant: Tenant) {
    this.#tenant = tenant;
  }

  /** Undefined if the request needs no tenant, and before `resolveTenant`. */
  get tenantName(): string | undefined {
    return this.#tenant?.name;
  }

  /** @throws Error before `resolveTenant` */
  get tenant(): Tenant {
    if (this.#tenant === undefined) throw new Error('The tenant of this request is not known yet.');
    return this.#tenant;
  }

  /** @throws Error before authentication */
  get actor(): Actor {
    if (this.principal === undefined) throw new Error('This request is not authenticated yet.');
    return this.principal.actor;
  }

  /** The caller, for commands. The request id links all its events. */
  caller(): Caller {
    return { ...this.callerAs(this.actor), deadline: this.deadline };
  }

  /** A caller for what the service itself notes about the request. */
  callerAs(actor: Actor, tenant = this.tenant.name): Caller {
    const { requestId } = this;
    const request = { method: this.req.method, path: loggedPath(this.req) };
    const ids = { correlationId: requestId, causationId: requestId, traceparent: traceparentOf(this.span) };
    return { tenant, actor, ...ids, request };
  }
}

/** Requested every few seconds, so logged at level debug only, and not traced. */
const PROBES: readonly string[] = ['/health/live', '/health/ready', '/metrics'];

/** The beginning of the path, without the query, which may hold personal data. */
export const loggedPath = ({ originalUrl }: Request): string => (originalUrl.split('?', 1)[0] ?? '').slice(0, MAX_PATH);

type Watchers = { readonly log: Logger; readonly metrics: ServiceMetrics; readonly tracer: Tracer | undefined };

/** A line of the access log (docs/operations.md). It has nothing of the query, the header fields or the body. */
function accessLine(req: Request, route: string, status: number, seconds: number): object {
  const { method, context } = req;
  const { requestId, principal } = context;
  const { actor } = principal ?? {};
  const isNamed = actor?.kind === 'client' || actor?.kind === 'user';
  const named = actor && { id: actor.id, name: isNamed ? actor.name : undefined };
  const isClient = actor?.kind === 'client';
  // pino leaves out undefined values. One literal: spreading several objects would double the cost of this function.
  return {
    requestId,
    tenant: context.tenantName,
    client: isClient ? named : undefined,
    user: isClient ? undefined : named,
    method,
    route: context.mount + route || 'unmatched',
    path: loggedPath(req),
    status,
    ms: Math.round(seconds * 100_000) / 100,
    bytes: method === 'HEAD' ? 0 : context.answerBytes,
  };
}

/** Gives the request its id (X-Request-Id), and counts, logs and traces it. */
export function openRequest(
  { log, metrics, tracer }: Watchers,
  { REQUEST_TIMEOUT_MS }: { readonly REQUEST_TIMEOUT_MS: number },
): RequestHandler {
  function closed(this: Response): void {
    const { req } = this;
    req.context.end();
    const route = typeof req.route?.path === 'string' ? req.route.path : '';
    const seconds = (performance.now() - req.context.startedAt) / 1000;
    // 499: the client disconnected before its answer was sent (as nginx logs it).
    const status = this.writableFinished ? this.statusCode : 499;
    // Work for a client that has disconnected goes on until its deadline; a read is cancelled.
    if (this.writableFinished) req.context.deadline.end();
    metrics.observeRequest(req.method, req.context.mount, route, status, seconds);
    if (req.context.span !== undefined) endRequestSpan(req, req.context.span, route, status);
    const level = status < 400 && PROBES.includes(req.context.mount + route) ? 'debug' : 'info';
    if (log.isLevelEnabled(level)) log[level](accessLine(req, route, status, seconds), 'request');
  }

  return (req: Request, res: Response, next: NextFunction): void => {
    req.context = new RequestContext(req, REQUEST_TIMEOUT_MS);
    if (tracer !== undefined) req.context.span = beginRequestSpan(tracer, req);
    res.setHeader('X-Request-Id', req.context.requestId);
    res.setHeader('X-Content-Type-Options', 'nosniff');
    res.on('close', closed);
    next();
  };
}

/** Continues the caller's trace if the request names one (W3C Trace Context). */
function beginRequestSpan(tracer: Tracer, { method, path, headers }: Request): Span | undefined {
  if (PROBES.includes(path)) return undefined;
  const { traceparent } = headers;
  const parent = typeof traceparent === 'string' ? traceparent : undefined;
  return startSpan(tracer, parent, method, { kind: SpanKind.SERVER });
}

/**
 * @param route path template below the router's; '' if none matched. The log has the full path with its ids, under the
 *   same correlation id.
 * @param status 499 if the client disconnected before its answer
 */
function endRequestSpan({ method, context }: Request, span: Span, route: string, status: number): void {
  const template = route === '' ? undefined : context.mount + route;
  span.updateName(template === undefined ? method : `${method} ${template}`);
  span.setAttributes({
    'http.request.method': method,
    'http.route': template,
    'http.response.status_code': status,
    'dynamic_assets.tenant': context.tenantName,
    'dynamic_assets.correlation_id': context.requestId,
  });
  if (status >= 500 || status === 499) failSpan(span, String(status));
  span.end();
}

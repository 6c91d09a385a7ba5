/** What is known of a request while it is served: one object for each request, made by the first middleware. */
import { randomUUID } from 'node:crypto';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import type { Caller } from '../commands/context.js';
import { RequestDeadline } from '../commands/requestDeadline.js';
import type { Tenant } from '../domain/identity/directory.js';
import type { User } from '../domain/identity/events.js';
import { MAX_LOGGED_PATH } from '../domain/limits.js';
import type { Actor } from '../ports/eventStore.js';
import type { Span, Tracer } from '../ports/tracing.js';
import { DeadlineError } from '../supervision/deadline.js';
import type { ServiceMetrics } from './metrics.js';
import { beginRequestSpan, endRequestSpan } from './requestSpan.js';

declare global {
  namespace Express {
    interface Request {
      /** There from the first middleware on. */
      context: RequestContext;
    }
  }
}

/** Ids of a client that are noted in the log, so that its people and ours can find each other's lines. */
const SANE_REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

/** The answer is made so long before the time of the request is over: those who hear of it then can still say what became of their work. */
export const ANSWER_MS = 250;

const NO_SCOPES: ReadonlySet<string> = new Set();

export class RequestContext {
  readonly startedAt = performance.now();
  readonly deadline: RequestDeadline;
  /** Path under which the router is mounted that serves the request, for metrics. */
  mount = '';
  /** Scopes of the token; empty for users and before authentication. */
  scopes: ReadonlySet<string> = NO_SCOPES;
  /** Who is signed in; undefined for API clients and before authentication. */
  user: User | undefined;
  /** Of the whole request; undefined while no traces are made. */
  span: Span | undefined;
  /** To be called when the request is done, so that others may have the room that its body took. */
  leaveRoom: () => void = () => {};
  /** Of the body that was answered, as it went out; 0 until then, and where there is none. */
  answerBytes = 0;
  #tenant: Tenant | undefined;
  #hasEnded = false;
  readonly #atEnd: (() => void)[] = [];
  #actor: Actor | undefined;

  /** Made here: ids that clients choose are not unique, and must not stand in the audit trail. */
  readonly requestId = randomUUID();
  readonly #clientRequestId: string | undefined;

  /** @param timeoutMs how long it may take until it is answered */
  constructor(req: Pick<Request, 'headers'>, timeoutMs: number) {
    const tookTooLong = () => new DeadlineError(`It was given up after ${timeoutMs / 1000} s.`);
    this.deadline = new RequestDeadline(timeoutMs - ANSWER_MS, tookTooLong);
    const given = req.headers['x-request-id'];
    this.#clientRequestId = typeof given === 'string' && SANE_REQUEST_ID.test(given) ? given : undefined;
  }

  /** Our id and the client's, for lines of the log. */
  get ids(): { readonly requestId: string; readonly clientRequestId?: string } {
    const { requestId } = this;
    return this.#clientRequestId === undefined ? { requestId } : { requestId, clientRequestId: this.#clientRequestId };
  }

  /** Client or user with id and name, for lines of the log; undefined before authentication. */
  get named(): { readonly id: string; readonly name: string | undefined } | undefined {
    const actor = this.#actor;
    if (actor === undefined) return undefined;
    const name = actor.kind === 'user' ? actor.name : this.#tenant?.clients.get(actor.id)?.name;
    return { id: actor.id, name };
  }

  /** Whether an API client asks; false before authentication. */
  get isClient(): boolean {
    return this.#actor?.kind === 'client';
  }

  /** Calls this when the answer is out or the client is gone; at once where that is so already. */
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

  /** Undefined where the request needs no tenant, and before `resolveTenant` ran. */
  get tenantName(): string | undefined {
    return this.#tenant?.name;
  }

  /** @throws Error before `resolveTenant` ran */
  get tenant(): Tenant {
    if (this.#tenant === undefined) throw new Error('The tenant of this request is not known yet.');
    return this.#tenant;
  }

  set actor(actor: Actor) {
    this.#actor = actor;
  }

  /** @throws Error before authentication */
  get actor(): Actor {
    if (this.#actor === undefined) throw new Error('This request is not authenticated yet.');
    return this.#actor;
  }

  /** Who asks, for commands: the request's id ties all its events together. */
  caller(): Caller {
    const { requestId, deadline, actor } = this;
    const traceparent = this.span?.traceparent;
    return { tenant: this.tenant.name, actor, correlationId: requestId, causationId: requestId, deadline, traceparent };
  }
}

/** Asked every few seconds: a line for each is there at level debug alone. */
const PROBES: readonly string[] = ['/health/live', '/health/ready', '/metrics'];

/** Of a request, for lines of the log: without its query, which holds what somebody looked for. */
export function loggedPath({ originalUrl }: Pick<Request, 'originalUrl'>): string {
  const query = originalUrl.indexOf('?');
  return originalUrl.slice(0, Math.min(query < 0 ? originalUrl.length : query, MAX_LOGGED_PATH));
}

type Watchers = { readonly log: Logger; readonly metrics: ServiceMetrics; readonly tracer: Tracer | undefined };

/** A line of the access log (docs/operations.md): nothing of the query, the body or the header fields but the client's own request id. */
function accessLine(req: Request, route: string, status: number, seconds: number): object {
  const { method, context } = req;
  const { requestId, clientRequestId } = context.ids;
  const { named } = context;
  // What is undefined is left out. One literal: to spread several objects into it takes as long as all else here.
  return {
    requestId,
    clientRequestId,
    tenant: context.tenantName,
    client: context.isClient ? named : undefined,
    user: context.isClient ? undefined : named,
    method,
    route: context.mount + route || 'unmatched',
    path: loggedPath(req),
    status,
    ms: Math.round(seconds * 100_000) / 100,
    bytes: method === 'HEAD' ? 0 : context.answerBytes,
    aborted: status === 499 ? true : undefined,
  };
}

/** Gives the request its id, which the answer shows as X-Request-Id, and counts, logs and traces it. */
export function openRequest(
  { log, metrics, tracer }: Watchers,
  { requestTimeoutMs, accessLog }: { readonly requestTimeoutMs: number; readonly accessLog: boolean },
): RequestHandler {
  function closed(this: Response): void {
    const { req } = this;
    req.context.end();
    const route = typeof req.route?.path === 'string' ? req.route.path : '';
    const seconds = (performance.now() - req.context.startedAt) / 1000;
    // 499: the client went away before it had its answer (as nginx logs it).
    const status = this.writableFinished ? this.statusCode : 499;
    // The work of a client that has left goes on, in its time.
    if (this.writableFinished) req.context.deadline.end();
    metrics.observeRequest(req.method, req.context.mount, route, status, seconds);
    const { tenantName, answerBytes } = req.context;
    if (tenantName !== undefined) {
      const sent = req.complete ? Number(req.headers['content-length'] ?? 0) : 0;
      metrics.tenants.answered(tenantName, status, sent, req.method === 'HEAD' ? 0 : answerBytes);
    }
    if (req.context.span !== undefined) endRequestSpan(req, req.context.span, route, status);
    if (!accessLog) return;
    const level = status < 400 && PROBES.includes(req.context.mount + route) ? 'debug' : 'info';
    if (log.isLevelEnabled(level)) log[level](accessLine(req, route, status, seconds), 'request');
  }

  return (req: Request, res: Response, next: NextFunction): void => {
    req.context = new RequestContext(req, requestTimeoutMs);
    if (tracer !== undefined) req.context.span = beginRequestSpan(tracer, req);
    res.setHeader('X-Request-Id', req.context.requestId);
    res.setHeader('X-Content-Type-Options', 'nosniff');
    res.on('close', closed);
    next();
  };
}

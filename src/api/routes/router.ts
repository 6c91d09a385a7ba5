/**
 * Makes the express router of an area. Checks run in this order: those of the area (tenant 404, token 401, rate 429),
 * path and table (404), method (405), scope or role (403), unknown parameters and header fields (400), quotas (507). The
 * body comes last: strangers cannot make the service parse megabytes.
 */
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { tagOf } from '../../commands/preconditions.js';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { LARGE_WRITE_BYTES } from '../../domain/limits.js';
import { continueTrace, inSpans, traceparentOf } from '../../ports/tracing.js';
import { hasLargeBody } from '../admission.js';
import { requireScope } from '../auth/bearer.js';
import type { Api } from '../deps.js';
import { etag, heldTag } from '../entityTags.js';
import { clientHasLeft, notFound, tooManyRequests } from '../errors.js';
import { encodingFor, sendBody } from '../jsonAnswer.js';
import { type BodyReader, hasBody, jsonBodyReader } from '../jsonBody.js';
import { requireRole } from '../platform/signedIn.js';
import { growthCheck } from '../quotas.js';
import { ANSWER_MS } from '../requestContext.js';
import { isHere, knownAsset, methodNotAllowed } from './methods.js';
import {
  type Area,
  BODY_LIMITS,
  type BodyDescription,
  type Call,
  type Check,
  type Handler,
  isTableOperation,
  type Method,
  type Operation,
  type Reply,
  routesOf,
  scopeOf,
} from './operation.js';
import { parametersCheck, parametersOf, refusedHeadersCheck } from './query.js';

export function areaRouter(api: Api, area: Area): Router {
  const router = Router({ caseSensitive: true });
  router.use((req, res, next) => {
    req.context.mount = req.baseUrl;
    endInTime(req, res, next);
    const passed = passChecks(area.checks, api, req, res);
    if (passed === undefined) next();
    else
      return passed.then(
        unlessAnswered(res, () => next()),
        unlessAnswered(res, next),
      );
  });
  const routes = routesOf(area);
  for (const path of new Set(routes.map((route) => route.path))) {
    const here = routes.filter((route) => route.path === path);
    const route = router.route(path);
    for (const { method, operation } of here) {
      const handle = handlerOf(api, method, operation);
      route[VERBS[method]]((req, res, next) => (isHere(req, operation) ? handle(req, res, next) : next()));
    }
    // An unknown table is 404 for every method.
    if (here.some(({ operation }) => isTableOperation(operation))) {
      route.all((req, _res, next) => {
        knownAsset(req);
        next();
      });
    }
    route.all(methodNotAllowed(here, routes));
  }
  if (area.onError !== undefined) router.use(area.onError);
  return router;
}

/**
 * Answers at the request's deadline, even if its work goes on. A read is cancelled when its client leaves.
 * @param fail of the area that serves the request: of several, the last one called
 */
function endInTime({ method, context }: Request, res: Response, fail: (error: unknown) => void): void {
  const isFirst = context.fail === undefined;
  context.fail = fail;
  if (!isFirst) return;
  const { deadline } = context;
  deadline.onCancel(() =>
    setTimeout(() => unlessAnswered(res, (error) => context.fail?.(error))(deadline.reason), ANSWER_MS),
  );
  if (method !== 'GET' && method !== 'HEAD') return;
  context.atEnd(() => {
    if (!res.writableFinished) deadline.cancel(clientHasLeft());
  });
}

/** Whether the answer has begun, or was for a client that has left. */
const isAnswered = (res: Response): boolean => res.headersSent || res.writableEnded;

/** Ignores the outcome of work that ends after the answer. */
const unlessAnswered =
  <T>(res: Response, act: (outcome: T) => void) =>
  (outcome: T): void => {
    if (!isAnswered(res)) act(outcome);
  };

/** Stays synchronous unless a check has to wait: every request passes here, and most checks are synchronous. */
function passChecks(checks: readonly Check[], api: Api, req: Request, res: Response): void | Promise<void> {
  let at = 0;
  for (const check of checks) {
    at += 1;
    const passed = check(api, req, res);
    if (passed !== undefined) return passed.then(() => passChecks(checks.slice(at), api, req, res));
  }
}

/** Express's names; `get` serves HEAD as well. */
const VERBS = { GET: 'get', POST: 'post', PUT: 'put', DELETE: 'delete' } as const;

/** The same as the directory has it now, unless the table is gone. */
const knownNow = (api: Api, req: Request): AssetType =>
  api.directory.tenant(req.context.tenant.name)?.assetTypes.get(String(req.params.table)) ?? knownAsset(req);

/** `isShown`: whether reads show what was written, if that is known already. */
type Made = Reply & { readonly isShown?: boolean };

function handlerOf(api: Api, method: Method, operation: Operation): RequestHandler {
  const { query: parameters = [], body: described, status = 200, honours = [] } = operation;
  const checkQuery = parameters === 'any' ? () => {} : parametersCheck(parameters);
  const checkHeaders = refusedHeadersCheck(method, honours);
  const readBody = described === undefined ? undefined : bodyReader(api, described);
  const checkGrowth = growthCheck(api, operation);
  const isBodyFirst = operation.mayReport === true || operation.keysOf !== undefined;

  const toCall = async <Known>(req: Request, res: Response, known: Known): Promise<Call & Known> => {
    const query = parametersOf(req.originalUrl);
    checkQuery(query);
    checkHeaders(req);
    const assetType = isTableOperation(operation) ? knownAsset(req) : undefined;
    if (!isBodyFirst) await checkGrowth?.(req, { assetType, query });
    const body = readBody === undefined ? undefined : await readBody(req, res);
    if (isBodyFirst) await checkGrowth?.(req, { assetType, query, body });
    const untilStart = operation.work === 'none' ? undefined : api.starts.wait(req.context);
    if (untilStart !== undefined) await untilStart;
    return { req, res, path: pathOf(req), query, body, ...known };
  };

  /**
   * Waits for a turn if the work is costly. A large write keeps its turn until reads show it, so that few are ever pending;
   * if its work is costly as well, it waits for both, and keeps the other one only while it works.
   */
  const act = <Given>(handle: Handler<Given>, req: Request, call: Given): Made | Promise<Made> => {
    const { work: kind } = operation;
    const isCostly = kind !== undefined && kind !== 'none' && kind !== 'largeWrite';
    const work = () => (isCostly ? api.work[kind].run(req.context, async () => handle(api, call)) : handle(api, call));
    if (kind !== 'largeWrite' && (readBody === undefined || !hasLargeBody(req))) return work();
    return api.work.largeWrite.run(req.context, async () => {
      const made = await work();
      return { ...made, isShown: await shownByReads(api, req, made) };
    });
  };

  /** Authorizes the request before it reads query and body. */
  const reply = async (req: Request, res: Response): Promise<Made> => {
    const { context } = req;
    switch (operation.allow) {
      case 'anyone':
        return operation.handle(api, await toCall(req, res, {}));
      case 'operators':
        return act(operation.handle, req, await toCall(req, res, { operator: context.actor.id }));
      case 'clients': {
        if (operation.scope !== undefined) requireScope(req, operation.scope);
        const { tenant, scopes } = context;
        return act(operation.handle, req, await toCall(req, res, { caller: context.caller(), tenant, scopes }));
      }
      case 'users':
      case 'validators':
      case 'admins':
      case 'adminsAndAuditors': {
        const user = await requireRole(api, req, res, operation);
        const { tenant } = context;
        return act(operation.handle, req, await toCall(req, res, { caller: context.caller(), tenant, user }));
      }
      default: {
        const assetType = knownAsset(req);
        requireScope(req, scopeOf(operation, assetType));
        const call = await toCall(req, res, { caller: context.caller(), assetType });
        if (method === 'GET') return act(operation.handle, req, call);
        // The table may have a new field.
        return act(operation.handle, req, { ...call, assetType: knownNow(api, req) });
      }
    }
  };

  /** Continues after the deadline's answer, but then without further calls to the log. */
  return async (req, res) => {
    try {
      const made = await reply(req, res);
      const shown = made.isShown ?? shownByReads(api, req, made);
      const isPending = shown !== true && !(await shown);
      if (isAnswered(res)) return;
      if (isPending) res.setHeader('Projection-Pending', 'true');
      await sendReply(api, req, res, { status, ...made });
    } catch (error) {
      if (!isAnswered(res)) throw error;
    } finally {
      req.context.releaseBody();
    }
  };
}

function bodyReader(api: Api, { optional, limit = 'settings', longNumbers, read }: BodyDescription): BodyReader {
  const limitBytes = Math.min(BODY_LIMITS[limit], api.config.bodyLimitBytes);
  const reader = read ?? jsonBodyReader({ limitBytes, ...(longNumbers === undefined ? {} : { longNumbers }) });
  return async (req, res) => {
    if (optional === true && !hasBody(req)) return {};
    const { context } = req;
    if (hasLargeBody(req) && limitBytes > LARGE_WRITE_BYTES)
      context.releaseBody = await api.bodies.enter(context, context.deadline);
    return reader(req, res);
  };
}

/** @throws HttpError 404 for a parameter with a NUL character: nothing has such a name */
function pathOf({ params, path }: Request): Call['path'] {
  const of = (name: string): string => {
    const value = params[name];
    if (typeof value !== 'string') return '';
    if (value.includes('\0')) throw notFound(`There is nothing at ${path}.`);
    return value;
  };
  return { table: of('table'), id: of('id'), deliveryId: of('deliveryId') };
}

/**
 * Whether the rows show the write in time. If they do not, or cannot be reached, the write stands and the answer has
 * the header `Projection-Pending: true`.
 */
function shownByReads(api: Api, { context }: Request, reply: Reply): true | Promise<boolean> {
  const written = Math.max(reply.written ?? 0, context.deadline.written);
  if (written === 0 || context.tenantName === undefined) return true;
  const { tenantName } = context;
  const { config, log, tracer, progress } = api;
  const until = async (limitMs: number): Promise<boolean> => {
    const span = continueTrace(tracer, traceparentOf(context.span), 'wait until visible', {});
    const wait = async () => {
      const isShown = await progress.waitFor(tenantName, written, limitMs);
      span?.setAttribute('dynamic_assets.visible', isShown);
      return isShown;
    };
    try {
      return span === undefined ? await wait() : await inSpans([span], wait);
    } catch (error) {
      log.warn({ err: error, position: written }, 'written, but the rows do not answer whether they show it');
      return false;
    }
  };
  return context.deadline.within(until(config.projectionWaitMs)).catch(() => false);
}

/** @param reply has the operation's status if it has none of its own */
async function sendReply(api: Api, req: Request, res: Response, reply: Reply): Promise<void> {
  const { status = 200, headers, body } = reply;
  if (req.method !== 'GET' && req.method !== 'HEAD') {
    // A write is always answered, however full memory is.
    if (reply.isReplayed === true) res.setHeader('Idempotency-Replayed', 'true');
    sendBody(res, status, body, reply.tag === undefined ? headers : { ...headers, ETag: etag(reply.tag) });
    return countInFlight(api, req, res, res.writableLength);
  }
  tellStaleness(api, req, res);
  res.vary('Accept-Encoding');
  // Ranges are not supported: the whole is sent (RFC 9110 §14.2, §14.3).
  if (req.headers.range !== undefined) res.setHeader('Accept-Ranges', 'none');
  const tag = reply.tag ?? (status === 200 && body !== undefined ? tagOf(body) : undefined);
  const held = tag === undefined ? undefined : heldTag(req, tag);
  if (held !== undefined) return sendBody(res, 304, undefined, { ...headers, ETag: held });
  if (body === undefined) return sendBody(res, status, body, headers);
  const isCompressed = headers?.['Content-Type'] === 'application/zip';
  const encoding = isCompressed ? undefined : encodingFor(req, body);
  const described = tag === undefined ? headers : { ...headers, ETag: etag(tag, encoding) };
  requireRoom(api, req);
  if (encoding === undefined) {
    sendBody(res, status, body, described);
    return countInFlight(api, req, res, res.writableLength);
  }
  // Counted before compression, which may wait for its turn.
  countInFlight(api, req, res, Buffer.byteLength(body));
  const { tenantName = '', deadline } = req.context;
  const compressed =
    reply.compressed?.[encoding] ?? (await deadline.within(api.compression.compress(body, encoding, tenantName)));
  if (!isAnswered(res)) sendBody(res, status, compressed, { ...described, 'Content-Encoding': encoding });
}

/** Reads may lag behind writes. */
function tellStaleness({ progress }: Api, { context }: Request, res: Response): void {
  if (context.tenantName === undefined) return;
  const seconds = progress.staleness(context.tenantName) ?? 0;
  if (seconds > 0) res.setHeader('Projection-Staleness', String(seconds));
}

/** @throws HttpError 429 while the tenant's clients leave too many bytes untaken */
function requireRoom({ answers }: Api, { context: { tenantName } }: Request): void {
  if (tenantName === undefined || answers.hasRoom(tenantName)) return;
  throw tooManyRequests('Too many answers wait until the clients of this tenant receive them.', 1);
}

function countInFlight({ answers }: Api, { context: { tenantName } }: Request, res: Response, bytes: number): void {
  if (tenantName !== undefined) answers.add(tenantName, bytes, res);
}

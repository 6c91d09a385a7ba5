/**
 * Makes the express router of an area. Checks run in this order: those of the area (tenant 404, token 401, rate 429),
 * path and table (404), method (405), permission (403), unknown parameters and header fields (400), body, quotas (507). The
 * body comes late: strangers cannot make the service parse megabytes.
 */
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { tagOf } from '../../commands/preconditions.js';
import type { Deadline } from '../../supervision/deadline.js';
import { nextTurn } from '../../supervision/waiting.js';
import { countWaiting, hasLargeBody, hasRoom, type WorkKind } from '../admission.js';
import { authorize } from '../auth/principal.js';
import type { Api } from '../deps.js';
import { etag, isCurrent } from '../entityTags.js';
import { HttpError, isSafe, methodNotAllowed, tooManyRequests, tryLater } from '../errors.js';
import { compress, isCompressedFor, sendBody } from '../jsonAnswer.js';
import { type BodyReader, hasBody, jsonBodyReader } from '../jsonBody.js';
import { growthCheck } from '../quotas.js';
import { ANSWER_MS } from '../requestContext.js';
import {
  type Area,
  BODY_LIMITS,
  type BodyDescription,
  Call,
  type Check,
  knownAsset,
  METHODS,
  type Method,
  type Operation,
  type Reply,
  routesOf,
  TABLE_KINDS,
} from './operation.js';
import { parametersCheck, parametersOf, refusedHeadersCheck } from './query.js';

/** Express's names; `get` serves HEAD as well. */
const VERBS = { GET: 'get', POST: 'post', PUT: 'put', DELETE: 'delete' } as const;

export function areaRouter(api: Api, area: Area): Router {
  const router = Router({ caseSensitive: true });
  serve(router, api, area);
  if (area.signedIn !== undefined) serve(router, api, area.signedIn);
  if (area.onError !== undefined) router.use(area.onError);
  return router;
}

function serve(router: Router, api: Api, { checks, resources }: Pick<Area, 'checks' | 'resources'>): void {
  router.use((req, res, next) => {
    req.context.mount = req.baseUrl;
    endInTime(req, res, next);
    const passed = passChecks(checks, api, req, res);
    if (passed === undefined) next();
    else
      return passed.then(
        unlessAnswered(res, () => next()),
        unlessAnswered(res, next),
      );
  });
  const routes = routesOf({ resources });
  for (const path of new Set(routes.map((route) => route.path))) {
    const here = routes.filter((route) => route.path === path);
    const route = router.route(path);
    for (const { method, operation } of here) route[VERBS[method]](handlerOf(api, method, operation));
    // An unknown table is 404 for every method.
    route.all((req) => {
      const offered = here.filter(({ operation }) => isOffered(operation, req));
      const methods = METHODS.filter((method) => offered.some((each) => each.method === method));
      throw methodNotAllowed(req, methods.map((method) => (method === 'GET' ? 'GET, HEAD' : method)).join(', '));
    });
  }
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
  if (!isSafe(method)) return;
  context.atEnd(() => {
    // Nobody gets this answer; the log has it.
    if (!res.writableFinished) deadline.cancel(new HttpError(499, 'Client closed request.', 'The client has left.'));
  });
}

/** Ignores the outcome of work that ends after the answer. */
const unlessAnswered =
  <T>(res: Response, act: (outcome: T) => void) =>
  (outcome: T): void => {
    if (!isAnswered(res)) act(outcome);
  };

/** Whether it is for tables of this kind. @throws NotFoundError for an unknown table */
const isOffered = ({ tables }: Operation, req: Request): boolean =>
  tables === undefined || TABLE_KINDS[tables](knownAsset(req));

/** Stays synchronous unless a check has to wait: every request passes here, and most checks are synchronous. */
function passChecks(checks: readonly Check[], api: Api, req: Request, res: Response): void | Promise<void> {
  for (const [at, check] of checks.entries()) {
    const passed = check(api, req, res);
    if (passed !== undefined) return passed.then(() => passChecks(checks.slice(at + 1), api, req, res));
  }
}

function handlerOf(api: Api, method: Method, operation: Operation): RequestHandler {
  const { query: parameters = [], body: described, status = 200, headers = [] } = operation;
  const checkQuery = parameters === 'any' ? () => {} : parametersCheck(parameters);
  const checkHeaders = refusedHeadersCheck(method, headers);
  const readBody = described === undefined ? undefined : bodyReader(api, described);
  const checkGrowth = growthCheck(api, operation);

  /** What the request waits for its turn for: nobody does who is not known. A moment of the past is found among the tenant's events. */
  const workOf = (req: Request, query: URLSearchParams): WorkKind | undefined => {
    if (operation.allow === 'anyone') return undefined;
    const isLarge = readBody !== undefined && hasLargeBody(req);
    return operation.work ?? (query.has('at') ? 'list' : isLarge ? 'largeWrite' : undefined);
  };

  /** Continues after the deadline's answer, but then without further calls to the log. */
  return async (req, res) => {
    const { context } = req;
    let leave = (): void => {};
    let listing: Deadline | undefined;
    try {
      await authorize(api, req, res, operation);
      const query = parametersOf(req.originalUrl);
      // Where the table is of another kind, the command says that the method is not for it.
      if (isOffered(operation, req)) {
        checkQuery(query);
        checkHeaders(req);
      }
      const work = workOf(req, query);
      if (work === 'list') listing = context.deadline.part(api.config.REQUEST_TIMEOUT_MS / 2, listTookTooLong);
      const time = listing ?? context.deadline;
      if (work !== undefined) leave = await api.work[work].enter(context.tenantName ?? '', time);
      const call = new Call(api, req, res, query, await readBody?.(req, res));
      await checkGrowth?.(call);
      // Hundreds that arrive together would hold the event loop for a few milliseconds each.
      const turn = () => nextTurn(context.tenantName ?? req.route.path);
      await turn();
      // Of before the read: the rows may catch up meanwhile.
      const staleness = api.progress.staleness(context.tenantName ?? '');
      const reply = await operation.handle(api, call, time);
      // Nor are they answered at once where they have all waited for the same.
      if (operation.allow === 'anyone') await turn();
      // A large write keeps its turn until reads show it, so that few are ever pending.
      const isShown = await shownByReads(api, req, reply);
      if (isAnswered(res)) return;
      if (!isShown) res.setHeader('Projection-Pending', 'true');
      await sendReply(api, req, res, { status, ...reply }, staleness);
    } catch (error) {
      if (!isAnswered(res)) throw listing?.reason ?? error;
    } finally {
      leave();
      listing?.end();
    }
  };
}

/** A list has half of a request's time, waits included: those of others, which wait for it, have the rest. */
const listTookTooLong = () =>
  tryLater('The list took too long.', 'Filter by values of three or more characters, or ask for less at once.');

function bodyReader(api: Api, { optional, limit = 'settings', read }: BodyDescription): BodyReader {
  const reader = read ?? jsonBodyReader(Math.min(BODY_LIMITS[limit], api.config.BODY_LIMIT_BYTES));
  return async (req, res) => (optional === true && !hasBody(req) ? {} : reader(req, res));
}

/**
 * Whether the rows show the write in time. If they do not, or cannot be reached, the write stands and the answer has
 * the header `Projection-Pending: true`.
 */
async function shownByReads(api: Api, { context }: Request, reply: Reply): Promise<boolean> {
  const written = Math.max(reply.written ?? 0, context.deadline.written);
  if (written === 0 || context.tenantName === undefined) return true;
  const { tenantName } = context;
  const { config, log, progress } = api;
  const shown = progress.waitFor(tenantName, written, config.WRITE_WAIT_MS).catch((error: unknown) => {
    log.warn({ err: error, position: written }, 'written, but the rows do not answer whether they show it');
    return false;
  });
  return context.deadline.within(shown).catch(() => false);
}

/** Whether the answer has begun, or was for a client that has left. */
const isAnswered = (res: Response): boolean => res.headersSent || res.writableEnded;

/**
 * @param reply has the operation's status if it has none of its own
 * @throws HttpError 429 for a read while the tenant's clients leave too many bytes untaken
 */
async function sendReply(api: Api, req: Request, res: Response, reply: Reply, staleness = 0): Promise<void> {
  const { status = 200, headers, body } = reply;
  const { tenantName, deadline } = req.context;
  const countInFlight = (bytes: number): void => {
    if (tenantName !== undefined) countWaiting(api.answers, tenantName, bytes, res);
  };
  if (!isSafe(req.method)) {
    // A write is always answered, however full memory is.
    if (reply.isRepeated === true) res.setHeader('Idempotency-Replayed', 'true');
    sendBody(res, status, body, reply.tag === undefined ? headers : { ...headers, ETag: etag(reply.tag) });
    return countInFlight(res.writableLength);
  }
  // Reads may lag behind writes.
  if (staleness > 0) res.setHeader('Projection-Staleness', String(staleness));
  res.vary('Accept-Encoding');
  const tag = reply.tag ?? (status === 200 && body !== undefined ? tagOf(body) : undefined);
  if (tag !== undefined && isCurrent(req, tag)) return sendBody(res, 304, undefined, { ...headers, ETag: etag(tag) });
  if (body === undefined) return sendBody(res, status, body, headers);
  const isPacked = headers?.['Content-Encoding'] !== undefined || headers?.['Content-Type'] === 'application/zip';
  const isCompressed = !isPacked && isCompressedFor(req, body);
  const described = tag === undefined ? headers : { ...headers, ETag: etag(tag, isCompressed) };
  if (tenantName !== undefined && !hasRoom(api.answers, tenantName))
    throw tooManyRequests('Too many answers wait until the clients of this tenant receive them.', 1);
  if (!isCompressed) {
    sendBody(res, status, body, described);
    return countInFlight(res.writableLength);
  }
  // Counted before compression, which may take a while.
  countInFlight(Buffer.byteLength(body));
  const compressed = await deadline.within(compress(body, headers?.['Cache-Control']?.includes('immutable') === true));
  if (!isAnswered(res)) sendBody(res, status, compressed, { ...described, 'Content-Encoding': 'gzip' });
}

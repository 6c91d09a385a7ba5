/**
 * Makes the express router of an area. Checks run in this order: those of the area (tenant 404, token 401, rate 429),
 * path and table (404), method (405), scope or role (403), unknown parameters and header fields (400). The body comes
 * last: strangers cannot make the service parse megabytes.
 */
import { type Request, type RequestHandler, type Response, Router } from 'express';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { requireScope } from '../auth/bearer.js';
import type { Api } from '../deps.js';
import { HttpError, known, notFound } from '../errors.js';
import { type BodyReader, hasBody, jsonBodyReader } from '../jsonBody.js';
import { requireRole } from '../platform/signedIn.js';
import { ANSWER_MS } from '../requestContext.js';
import {
  type Area,
  BODY_LIMITS,
  type BodyDescription,
  type Call,
  type Check,
  hasMethodAt,
  isTableOperation,
  METHODS,
  type Method,
  type Operation,
  type Reply,
  type Route,
  routesOf,
  scopeOf,
} from './operation.js';
import { shownByReads } from './pendingProjection.js';
import { parametersCheck, parametersOf } from './query.js';
import { refusedHeadersCheck } from './refusedHeaders.js';
import { sendReply } from './sendReply.js';

export function areaRouter(api: Api, area: Area): Router {
  const router = Router({ caseSensitive: true });
  router.use((req, res, next) => {
    req.context.mount = req.baseUrl;
    answerInTime(req, res, next);
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
    route.all(methodNotAllowed(here));
  }
  if (area.onError !== undefined) router.use(area.onError);
  return router;
}

/** Answers at the request's deadline, even if its work goes on. */
function answerInTime({ context: { deadline } }: Request, res: Response, fail: (error: unknown) => void): void {
  deadline.onCancel(() => setTimeout(() => unlessAnswered(res, fail)(deadline.reason), ANSWER_MS));
}

/** Ignores the outcome of work that ends after the answer. */
const unlessAnswered =
  <T>(res: Response, act: (outcome: T) => void) =>
  (outcome: T): void => {
    if (!res.writableEnded) act(outcome);
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

/** The asset type of `:table`. @throws HttpError 404 if the tenant has none of this name */
const knownAsset = ({ params, context }: Request): AssetType =>
  known(context.tenant.assetTypes, String(params.table), 'asset');

const isHere = (req: Request, operation: Operation): boolean => hasMethodAt(operation, () => knownAsset(req));

/** For methods without an operation. OPTIONS lists the methods (RFC 9110 §9.3.7, §10.2.1). */
function methodNotAllowed(here: readonly Pick<Route, 'method' | 'operation'>[]): RequestHandler {
  return (req, res) => {
    const offered = here.filter(({ operation }) => isHere(req, operation)).map(({ method }) => method);
    const allow = allowOf(METHODS.filter((method) => offered.includes(method)));
    if (req.method === 'OPTIONS') return tellMethods(res, allow);
    throw new HttpError(405, 'Method not allowed.', `${req.method} is not offered here; ${allow} is.`, {
      Allow: allow,
    });
  };
}

const allowOf = (methods: readonly Method[]): string =>
  methods.map((method) => (method === 'GET' ? 'GET, HEAD' : method)).join(', ');

const tellMethods = (res: Response, allow: string): void => void res.setHeader('Allow', allow).status(204).end();

/** `OPTIONS *` asks about the service as a whole (RFC 9110 §9.3.7). */
export const optionsOfService: RequestHandler = (req, res, next) =>
  req.url === '*' ? tellMethods(res, allowOf(METHODS)) : next();

function handlerOf(api: Api, method: Method, operation: Operation): RequestHandler {
  const { query: parameters = [], body: described, status = 200, honours = [] } = operation;
  const checkQuery = parameters === 'any' ? () => {} : parametersCheck(parameters);
  const checkHeaders = refusedHeadersCheck(method, honours);
  const readBody = described === undefined ? undefined : bodyReader(api, described);

  const toCall = async <Known>(req: Request, res: Response, known: Known): Promise<Call & Known> => {
    const query = parametersOf(req.originalUrl);
    checkQuery(query);
    checkHeaders(req);
    const body = readBody === undefined ? undefined : await readBody(req, res);
    return { req, res, path: pathOf(req), query, body, ...known };
  };

  /** Authorizes the request before it reads query and body. */
  const reply = async (req: Request, res: Response): Promise<Reply> => {
    const { context } = req;
    switch (operation.allow) {
      case 'anyone':
        return operation.handle(api, await toCall(req, res, {}));
      case 'clients': {
        const { tenant, scopes } = context;
        return operation.handle(api, await toCall(req, res, { caller: context.caller(), tenant, scopes }));
      }
      case 'users':
      case 'validators':
      case 'admins':
      case 'adminsAndAuditors': {
        const user = await requireRole(api, req, res, operation);
        const { tenant } = context;
        return operation.handle(api, await toCall(req, res, { caller: context.caller(), tenant, user }));
      }
      default: {
        const assetType = knownAsset(req);
        requireScope(req, scopeOf(operation, assetType));
        return operation.handle(api, await toCall(req, res, { caller: context.caller(), assetType }));
      }
    }
  };

  /** Continues after the deadline's answer, but then without further calls to the log. */
  return async (req, res) => {
    try {
      const made = await reply(req, res);
      const shown = shownByReads(api, req, made);
      const isPending = shown !== true && !(await shown);
      if (res.writableEnded) return;
      if (isPending) res.setHeader('Projection-Pending', 'true');
      await sendReply(api, req, res, { status, ...made });
    } catch (error) {
      if (!res.writableEnded) throw error;
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
    context.releaseBody = await api.bodies.enter(context.tenantName ?? '', req, res, limitBytes);
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

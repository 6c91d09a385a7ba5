/**
 * Makes an express router of an area of the route table. Checks come in this order: those of the area (tenant 404, token
 * 401, rate 429), path (404) and table (404), method (405), scope or role (403), unknown parameters (400), then the body,
 * last: nobody unknown can make the service parse megabytes.
 */
import { type Request, type RequestHandler, type Response, Router } from 'express';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { requireScope } from '../auth/bearer.js';
import type { Api } from '../deps.js';
import { HttpError, known } from '../errors.js';
import { type BodyReader, hasBody, jsonBodyReader } from '../jsonBody.js';
import { requireRole } from '../platform/signedIn.js';
import { tooManyRequests } from '../rateLimit.js';
import { ANSWER_MS, bytesOf, type JsonText, sendJson } from '../requestContext.js';
import {
  type Area,
  BODY_LIMITS,
  type BodyDescription,
  type Call,
  isTableOperation,
  METHODS,
  type Method,
  type Operation,
  type Reply,
  routesOf,
  scopeOf,
} from './operation.js';
import { parametersOf, unknownParameterCheck } from './query.js';

export function areaRouter(api: Api, area: Area): Router {
  const router = Router({ caseSensitive: true });
  router.use(async (req, res, next) => {
    const { context } = req;
    context.mount = req.baseUrl;
    await context.deadline.within(passChecks(api, area, req, res), ANSWER_MS);
    next();
  });
  const routes = routesOf(area);
  for (const path of new Set(routes.map((route) => route.path))) {
    const here = routes.filter((route) => route.path === path);
    const route = router.route(path);
    for (const { method, operation } of here) route[VERBS[method]](handlerOf(api, operation));
    // An unknown table is 404 whatever the method.
    if (here.some(({ operation }) => isTableOperation(operation))) {
      route.all((req, _res, next) => {
        knownAsset(req);
        next();
      });
    }
    route.all(methodNotAllowed(here.map(({ method }) => method)));
  }
  if (area.onError !== undefined) router.use(area.onError);
  return router;
}

async function passChecks(api: Api, { checks }: Area, req: Request, res: Response): Promise<void> {
  for (const check of checks) await check(api, req, res);
}

/** The names of express; `get` serves HEAD as well. */
const VERBS = { GET: 'get', POST: 'post', PUT: 'put', DELETE: 'delete' } as const;

/** The asset type of the request's `:table`. @throws HttpError 404 when the tenant has none of this name */
const knownAsset = ({ params, context }: Request): AssetType =>
  known(context.tenant.assetTypes, String(params.table), 'asset');

/** For every method without an operation; OPTIONS tells what there is (RFC 9110 §9.3.7, §10.2.1). */
function methodNotAllowed(offered: readonly Method[]): RequestHandler {
  const methods = METHODS.filter((method) => offered.includes(method));
  const allow = methods.map((method) => (method === 'GET' ? 'GET, HEAD' : method)).join(', ');
  return (req, res) => {
    if (req.method === 'OPTIONS') {
      res.setHeader('Allow', allow).status(204).end();
      return;
    }
    throw new HttpError(405, 'Method not allowed.', `${req.method} is not offered here; ${allow} is.`, {
      Allow: allow,
    });
  };
}

function handlerOf(api: Api, operation: Operation): RequestHandler {
  const { query: parameters = [], body: described, status = 200 } = operation;
  const checkQuery = parameters === 'any' ? () => {} : unknownParameterCheck(parameters);
  const readBody = described === undefined ? noBody : bodyReader(api, described);

  const toCall = async (req: Request, res: Response): Promise<Call> => {
    const query = parametersOf(req.originalUrl);
    checkQuery(query);
    return { req, res, path: pathOf(req), query, body: await readBody(req, res) };
  };

  /** Whether the request may be made is known before its query and its body are looked at. */
  const reply = async (req: Request, res: Response): Promise<Reply> => {
    const { context } = req;
    switch (operation.allow) {
      case 'anyone':
        return operation.handle(api, await toCall(req, res));
      case 'clients': {
        const { tenant, scopes } = context;
        return operation.handle(api, { ...(await toCall(req, res)), caller: context.caller(), tenant, scopes });
      }
      case 'users':
      case 'validators':
      case 'admins':
      case 'adminsAndAuditors': {
        const user = await requireRole(api, req, res, operation.allow);
        const call = await toCall(req, res);
        return operation.handle(api, { ...call, caller: context.caller(), tenant: context.tenant, user });
      }
      default: {
        const assetType = knownAsset(req);
        requireScope(req, scopeOf(operation, assetType));
        return operation.handle(api, { ...(await toCall(req, res)), caller: context.caller(), assetType });
      }
    }
  };

  /** All that takes time. It goes on where the request is given up before, but then it asks the log for nothing more. */
  const work = async (req: Request, res: Response): Promise<Reply & { readonly isVisible: boolean }> => {
    try {
      const made = await reply(req, res);
      return { ...made, isVisible: await isVisible(api, req, made) };
    } finally {
      req.context.leaveRoom();
    }
  };

  return async (req, res) => {
    const made = await req.context.deadline.within(work(req, res), ANSWER_MS);
    if (!made.isVisible) res.setHeader('Projection-Pending', 'true');
    if (made.body !== undefined) countInFlight(api, req, res, made.body);
    sendJson(res, made.status ?? status, made.body, made.headers);
  };
}

/** What was written is answered in any case. @throws HttpError 429 for a read, while clients of the tenant leave too much untaken */
function countInFlight({ answers }: Api, { context, method }: Request, res: Response, body: JsonText): void {
  const { tenantName } = context;
  if (tenantName === undefined) return;
  if (method === 'GET' && !answers.hasRoom(tenantName)) {
    throw tooManyRequests('Too many answers wait for the clients of this tenant to take them.', 1);
  }
  answers.add(tenantName, bytesOf(body), res);
}

const noBody: BodyReader = () => Promise.resolve(undefined);

function bodyReader(api: Api, { optional, limit = 'settings', longNumbers, read }: BodyDescription): BodyReader {
  const limitBytes = Math.min(BODY_LIMITS[limit], api.config.bodyLimitBytes);
  const reader = read ?? jsonBodyReader({ limitBytes, ...(longNumbers === undefined ? {} : { longNumbers }) });
  return async (req, res) => {
    if (optional === true && !hasBody(req)) return {};
    const { context } = req;
    context.leaveRoom = await api.bodies.enter(context.tenantName ?? '', req, res, limitBytes);
    return reader(req, res);
  };
}

function pathOf({ params }: Request): Call['path'] {
  const of = (name: string): string => {
    const value = params[name];
    return typeof value === 'string' ? value : '';
  };
  return { table: of('table'), id: of('id'), deliveryId: of('deliveryId') };
}

/**
 * Waits until the read models show a write. The write stands in any case: where they do not show it in
 * time, or cannot be reached, the answer says so with the header `Projection-Pending: true`.
 */
async function isVisible(
  { readModels, config, log }: Api,
  { context }: Request,
  { written = 0 }: Reply,
): Promise<boolean> {
  if (written === 0) return true;
  const shown = context.deadline.within(readModels.waitFor('records', written, config.projectionWaitMs));
  return shown.catch((error: unknown) => {
    log.warn({ err: error, position: written }, 'written, but the read models cannot tell whether they show it');
    return false;
  });
}

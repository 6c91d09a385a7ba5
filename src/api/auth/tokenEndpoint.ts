/** `POST /oauth/token`: access tokens by client credentials (spec §4.10, §5; RFC 6749 §4.4). */
import express, { type ErrorRequestHandler, type Request, type Response, Router } from 'express';
import { secretMatches } from '../../commands/identity/secrets.js';
import type { ApiClient } from '../../domain/identity/directory.js';
import { isScope, type Scope } from '../../domain/identity/scopes.js';
import type { ApiDeps } from '../deps.js';
import type { DirectoryRefresh } from '../directoryRefresh.js';
import { HttpError, methodNotAllowed } from '../errors.js';
import { jsonBodyReader, runParser } from '../jsonBody.js';
import { TokenBuckets, tooManyRequests } from '../rateLimit.js';
import { sendJson } from '../sendJson.js';
import { resolveTenant } from '../tenantHost.js';
import {
  formParameters,
  jsonParameters,
  OAuthError,
  readTokenRequest,
  type TokenParameters,
  type TokenRequest,
} from './tokenRequest.js';

const BODY_LIMIT_BYTES = 16_384;
/** Longer ids are told apart by their beginning only, so that remembered failures stay small. */
const LONGEST_CLIENT_ID = 100;
const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;

const readJson = jsonBodyReader(BODY_LIMIT_BYTES);
const readForm = express.text({ type: () => true, limit: BODY_LIMIT_BYTES });

export function tokenEndpoint(deps: ApiDeps, refresh: DirectoryRefresh): Router {
  const { tokens } = deps;
  const guesses = new GuessLimit(deps.config.tokenFailuresPerMinute);
  const router = Router({ caseSensitive: true });

  const issueToken = async (req: Request, res: Response): Promise<void> => {
    const { tenant } = req.context;
    const request = readTokenRequest(await readParameters(req, res), req.headers.authorization);
    const guess = `${tenant.name} ${request.clientId.slice(0, LONGEST_CLIENT_ID)} ${req.ip ?? ''}`;
    guesses.check(guess);
    const client = await findClient(deps, refresh, tenant.name, request);
    if (client === undefined) {
      guesses.failed(guess);
      throw new OAuthError('invalid_client', 'The client is unknown or its secret is wrong.');
    }
    const scopes = grantedScopes(client, request.scopes);
    const { token, expiresIn } = tokens.issueClientToken(tenant.name, client.clientId, scopes);
    const body = { access_token: token, token_type: 'Bearer', expires_in: expiresIn, scope: scopes.join(' ') };
    sendJson(res, 200, JSON.stringify(body));
  };

  router.use((req, res, next) => {
    req.context.mount = '/oauth';
    res.setHeader('Cache-Control', 'no-store');
    res.setHeader('Pragma', 'no-cache');
    next();
  });
  router.use(resolveTenant(deps, refresh));
  router.route('/token').post(issueToken).all(methodNotAllowed('POST'));
  router.use(oauthErrorHandler);
  return router;
}

async function readParameters(req: Request, res: Response): Promise<TokenParameters> {
  if (!FORM_TYPE.test(req.headers['content-type'] ?? '')) return jsonParameters(await readJson(req, res));
  await runParser(readForm, req, res);
  return formParameters(typeof req.body === 'string' ? req.body : '');
}

async function findClient(
  { directory }: Pick<ApiDeps, 'directory'>,
  refresh: DirectoryRefresh,
  tenant: string,
  request: TokenRequest,
): Promise<ApiClient | undefined> {
  const known = directory.tenant(tenant)?.clients.get(request.clientId);
  if (known !== undefined && secretMatches(request.clientSecret, known.secretHash)) return known;
  // The client, or its new secret, may have been made by another process a moment ago.
  await refresh.run();
  const latest = directory.tenant(tenant)?.clients.get(request.clientId);
  return latest !== undefined && secretMatches(request.clientSecret, latest.secretHash) ? latest : undefined;
}

/** Scopes of the new token, a subset of the client's. @throws OAuthError invalid_scope */
export function grantedScopes(
  client: Pick<ApiClient, 'scopes'>,
  asked: readonly string[] | undefined,
): readonly Scope[] {
  if (asked === undefined) return client.scopes;
  return asked.map((name) => {
    if (!isScope(name)) throw new OAuthError('invalid_scope', 'A scope that was asked for does not exist.');
    if (!client.scopes.includes(name))
      throw new OAuthError('invalid_scope', `The client does not have the scope ${name}.`);
    return name;
  });
}

/** Refused requests of one client id from one address; requests with good credentials do not count. */
class GuessLimit {
  readonly #buckets = new TokenBuckets();
  readonly #limit: { readonly perSecond: number; readonly burst: number };

  constructor(perMinute: number) {
    this.#limit = { perSecond: perMinute / 60, burst: perMinute };
  }

  /** @throws HttpError 429 when too many were refused */
  check(guess: string): void {
    if (this.#limit.burst <= 0) return;
    const seconds = this.#buckets.secondsToNext(guess, this.#limit, performance.now());
    if (seconds > 0) throw tooManyRequests('Too many refused token requests for this client.', seconds);
  }

  failed(guess: string): void {
    if (this.#limit.burst > 0) this.#buckets.take(guess, this.#limit, performance.now());
  }
}

/** Gives errors the shape of RFC 6749 §5.2, with `message` beside it; others go on to the API's error handler. */
const oauthErrorHandler: ErrorRequestHandler = (error: unknown, _req, res, next) => {
  const oauthError = toOAuthError(error);
  if (oauthError === undefined) {
    next(error);
    return;
  }
  const { code, message, status } = oauthError;
  if (code === 'invalid_client') res.setHeader('WWW-Authenticate', 'Basic realm="dynamic-assets", charset="UTF-8"');
  sendJson(res, status, JSON.stringify({ error: code, error_description: message, message }));
};

/** A body that cannot be read is an invalid request. */
function toOAuthError(error: unknown): OAuthError | undefined {
  if (error instanceof OAuthError) return error;
  if (error instanceof HttpError && [400, 413, 415].includes(error.status)) {
    return new OAuthError('invalid_request', error.reason, error.status);
  }
  return undefined;
}

/** `POST /oauth/token`: access tokens by client credentials (spec §4.10, §5; RFC 6749 §4.4). */
import { parse } from 'content-type';
import type { ErrorRequestHandler } from 'express';
import { recordClientUse } from '../../commands/identity/clients.js';
import { credentialOf, liveHashes, secretMatches } from '../../commands/identity/secrets.js';
import { type ApiClient, dayOf } from '../../domain/identity/events.js';
import { isScope, SCOPES, type Scope } from '../../domain/identity/scopes.js';
import { CREDENTIALS_BODY_BYTES } from '../../domain/limits.js';
import { shownName } from '../../domain/shownName.js';
import type { Api } from '../deps.js';
import { HttpError } from '../errors.js';
import { sendBody } from '../jsonAnswer.js';
import { type BodyReader, bytesReader, jsonBodyReader, utf8Text } from '../jsonBody.js';
import * as json from '../openapi/schema.js';
import { withinGuesses } from '../rateLimit.js';
import type { RequestContext } from '../requestContext.js';
import type { Check, Resource } from '../routes/operation.js';
import { networkOfRequest } from '../senderAddress.js';
import { OAuthError, readTokenRequest, type TokenRequest } from './tokenRequest.js';

const FORM_TYPE = 'application/x-www-form-urlencoded';

const readJson = jsonBodyReader(CREDENTIALS_BODY_BYTES);
const readForm = bytesReader(CREDENTIALS_BODY_BYTES);
/** Reads a form as URLSearchParams (RFC 6749 Appendix B: in UTF-8), anything else as JSON. */
const readFormOrJson: BodyReader = async (req, res) =>
  parse(req.headers['content-type'] ?? '').type === FORM_TYPE
    ? new URLSearchParams(utf8Text(await readForm(req, res)))
    : readJson(req, res);

/** Tokens must not be cached (RFC 6749 §5.1). */
export const forbidCaching: Check = (_api, _req, res) => {
  res.setHeader('Cache-Control', 'no-store');
  res.setHeader('Pragma', 'no-cache');
};

const tokenRequest: json.JsonSchema = {
  type: 'object',
  properties: {
    grant_type: { type: 'string', const: 'client_credentials' },
    client_id: { type: 'string', description: 'Left out with Basic authentication.' },
    client_secret: json.text,
    scope: {
      type: 'string',
      description: `Separated by spaces, of ${SCOPES.join(', ')}; all of the client's by default.`,
    },
  },
  required: ['grant_type'],
};

export const tokenEndpoint: Resource = {
  tag: 'token',
  operations: {
    'POST /token': {
      id: 'requestToken',
      summary: 'An access token by client credentials',
      description: 'Takes a form (application/x-www-form-urlencoded) as well.',
      allow: 'anyone',
      // Unknown parameters must be ignored (RFC 6749 §3.2).
      query: 'any',
      body: {
        schema: tokenRequest,
        example: { grant_type: 'client_credentials', client_id: '019aa4a5-…', client_secret: 'das_…' },
        limit: 'credentials',
        read: readFormOrJson,
      },
      answer: json.answer(
        'The token.',
        json.closedObject({
          access_token: { type: 'string', description: 'A JWT.' },
          token_type: { type: 'string', const: 'Bearer' },
          expires_in: { type: 'integer', description: 'Seconds.' },
          scope: json.text,
        }),
      ),
      async handle(api, { req, body }) {
        const tenant = req.context.tenant.name;
        const request = readTokenRequest(body, req.headers.authorization);
        const { client, secretHash } = await authenticated(api, tenant, request, networkOfRequest(req));
        req.context.principal = { actor: { kind: 'client', id: client.clientId }, permissions: new Set() };
        const scopes = grantedScopes(client, request.scopes);
        const credential = credentialOf(secretHash);
        noteUse(api, req.context, client);
        const scope = scopes.join(' ');
        const claims = { tenant, client_id: client.clientId, credential, scope };
        const { token, expiresIn } = api.tokens.issue('client', client.clientId, claims);
        const granted = { access_token: token, token_type: 'Bearer', expires_in: expiresIn, scope };
        return { body: JSON.stringify(granted) };
      },
    },
  },
};

/** @throws OAuthError for wrong credentials; HttpError 429 after too many */
async function authenticated(api: Api, tenant: string, request: TokenRequest, network: string): Promise<Authenticated> {
  const guess = { kind: 'secret', tenant, account: request.clientId, network } as const;
  const client = await withinGuesses(api, guess, 'Too many refused token requests for this client.', async () => {
    const known = clientWith(api, tenant, request);
    if (known !== undefined) return known;
    // Another process may have made the client or its new secret a moment ago.
    await api.refresh();
    return clientWith(api, tenant, request);
  });
  if (client !== undefined) return client;
  throw new OAuthError('invalid_client', 'The client is unknown or its secret is wrong.');
}

/** With the hash of the secret that was used. */
type Authenticated = { readonly client: ApiClient; readonly secretHash: string };

/** The client with this id and secret, if the directory has it. */
function clientWith({ directory }: Api, tenant: string, request: TokenRequest): Authenticated | undefined {
  const client = directory.tenant(tenant)?.clients.get(request.clientId);
  const secretHash = client && liveHashes(client).find((hash) => secretMatches(request.clientSecret, hash));
  return client && secretHash !== undefined ? { client, secretHash } : undefined;
}

/** Scopes of the new token, a subset of the client's. @throws OAuthError invalid_scope */
function grantedScopes(client: Pick<ApiClient, 'scopes'>, asked: readonly string[] | undefined): readonly Scope[] {
  if (asked === undefined) return client.scopes;
  return asked.map((name) => {
    if (isScope(name) && client.scopes.includes(name)) return name;
    const has = client.scopes.join(', ');
    throw new OAuthError('invalid_scope', `The client does not have the scope ${shownName(name)}; it has ${has}.`);
  });
}

/** The error of an unreadable body, ours or that of express' parser, in that form; undefined for any other error. */
function unreadable(error: unknown): OAuthError | undefined {
  if (!(error instanceof Error && 'status' in error) || ![400, 413, 415].includes(Number(error.status)))
    return undefined;
  const { reason, headers } = error instanceof HttpError ? error : { reason: error.message, headers: {} };
  return new OAuthError('invalid_request', reason, Number(error.status), headers);
}

/**
 * Answers errors in the form of RFC 6749 §5.2, with an additional `message`; passes others to the API's error handler.
 */
export const oauthErrorHandler: ErrorRequestHandler = (given: unknown, req, res, next) => {
  const error = given instanceof OAuthError ? given : (unreadable(given) ?? given);
  if (!(error instanceof OAuthError)) return next(error);
  const { code, message, status, headers } = error;
  // Only for a client that used the header, and not for a page's script, whose POST always has an Origin (Fetch standard,
  // §3.2): the browser would open its own sign-in dialog, and the script would wait for it.
  const { authorization, origin } = req.headers;
  if (code === 'invalid_client' && authorization !== undefined && origin === undefined) {
    res.setHeader('WWW-Authenticate', 'Basic realm="dynamic-assets", charset="UTF-8"');
  }
  sendBody(res, status, JSON.stringify({ error: code, error_description: message, message }), headers);
};

/** Lost if the process ends before; the client's next token makes up for it. */
const NOTED_AFTER_MS = 300_000;

/** Uses being recorded. The directory replaces the client's object once it shows the new day. */
const beingRecorded = new WeakMap<ApiClient, string>();

export function noteUse(
  { commands, log }: Pick<Api, 'commands' | 'log'>,
  context: RequestContext,
  client: ApiClient,
): void {
  const today = dayOf(commands.now());
  if (client.lastUsed === today || beingRecorded.get(client) === today) return;
  beingRecorded.set(client, today);
  const { ids, requestId: correlationId, tenant } = context;
  const actor = { kind: 'client', id: client.clientId, name: client.name } as const;
  const caller = { tenant: tenant.name, actor, correlationId, causationId: correlationId };
  const note = () =>
    recordClientUse(commands, caller, client.clientId).catch((error: unknown) => {
      beingRecorded.delete(client);
      log.warn({ err: error, ...ids }, 'the use of an API client was not recorded');
    });
  setTimeout(note, NOTED_AFTER_MS).unref();
}

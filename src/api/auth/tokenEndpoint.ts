/** `POST /oauth/token`: access tokens by client credentials (spec §4.10, §5; RFC 6749 §4.4), and how programs find it (RFC 8414). */
import { parse } from 'content-type';
import type { ErrorRequestHandler, Request } from 'express';
import { recordClientUse } from '../../commands/identity/clients.js';
import { credentialOf, liveHashes, secretMatches } from '../../commands/identity/secrets.js';
import { type ApiClient, dayOf } from '../../domain/identity/events.js';
import { SCOPES, type Scope } from '../../domain/identity/scopes.js';
import { CREDENTIALS_BODY_BYTES } from '../../domain/limits.js';
import { shownName } from '../../domain/shownName.js';
import type { Api } from '../deps.js';
import { HttpError } from '../errors.js';
import { sendBody } from '../jsonAnswer.js';
import { type BodyReader, bytesReader, jsonBodyReader, utf8Text } from '../jsonBody.js';
import * as json from '../openapi/schema.js';
import { withinGuesses } from '../rateLimit.js';
import type { Check, Resource } from '../routes/operation.js';
import { networkOfRequest } from '../senderAddress.js';
import { requestOrigin, resolveTenant } from '../tenantHost.js';

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
        req.context.principal = {
          actor: { kind: 'client', id: client.clientId, name: client.name },
          permissions: new Set(),
        };
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

/** Lost if the process ends before; the client's next token makes up for it. */
const NOTED_AFTER_MS = 300_000;

/** Uses being recorded. The directory replaces the client's object once it shows the new day. */
const beingRecorded = new WeakMap<ApiClient, string>();

export function noteUse({ commands, log }: Api, context: Request['context'], client: ApiClient): void {
  const today = dayOf(commands.now());
  if (client.lastUsed === today || beingRecorded.get(client) === today) return;
  beingRecorded.set(client, today);
  const caller = context.callerAs({ kind: 'client', id: client.clientId, name: client.name });
  const note = () =>
    recordClientUse(commands, caller, client.clientId).catch((error: unknown) => {
      beingRecorded.delete(client);
      log.warn({ err: error, requestId: context.requestId }, 'the use of an API client was not recorded');
    });
  setTimeout(note, NOTED_AFTER_MS).unref();
}

/** @throws OAuthError for wrong credentials; HttpError 429 after too many */
async function authenticated(api: Api, tenant: string, request: TokenRequest, network: string): Promise<Authenticated> {
  const guess = { kind: 'secret', tenant, account: request.clientId, network } as const;
  const client = await withinGuesses(api, guess, 'Too many refused token requests for this client.', async () => {
    const known = clientWith(api, tenant, request);
    if (known !== undefined) return known;
    // Another process may have made the client or its new secret a moment ago.
    await api.directory.refresh();
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
function grantedScopes(client: ApiClient, asked: readonly string[] | undefined): readonly Scope[] {
  if (asked === undefined) return client.scopes;
  return asked.map((name) => {
    const scope = client.scopes.find((each) => each === name);
    if (scope !== undefined) return scope;
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

/** The error codes of RFC 6749 §5.2 in use. */
type OAuthCode = 'invalid_request' | 'invalid_client' | 'unsupported_grant_type' | 'invalid_scope';

/** Answered in the form of RFC 6749 §5.2; the message becomes `error_description`. */
class OAuthError extends Error {
  constructor(
    readonly code: OAuthCode,
    description: string,
    readonly status = code === 'invalid_client' ? 401 : 400,
    readonly headers: { readonly [name: string]: string } = {},
  ) {
    // Printable ASCII without quotes and backslashes alone.
    super(description.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?'));
  }
}

type TokenRequest = {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Requested scopes, without duplicates; undefined: all of the client's. */
  readonly scopes: readonly string[] | undefined;
};

const PARAMETERS = ['grant_type', 'client_id', 'client_secret', 'scope'] as const;

/**
 * @param body a form, or parsed JSON. Other parameters are ignored, and those without a value count as absent (RFC 6749 §3.2).
 * @throws OAuthError if the request is malformed, or names no client
 */
function readTokenRequest(body: unknown, authorization: string | undefined): TokenRequest {
  const parameter = (name: (typeof PARAMETERS)[number]): string | undefined => {
    const values: readonly unknown[] =
      body instanceof URLSearchParams ? body.getAll(name) : [Object.getOwnPropertyDescriptor(body, name)?.value ?? ''];
    if (values.length > 1) throw new OAuthError('invalid_request', `The parameter ${name} is given twice.`);
    const [value = ''] = values;
    if (typeof value !== 'string') throw new OAuthError('invalid_request', `${name} must be a string.`);
    return value === '' ? undefined : value;
  };
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new OAuthError('invalid_request', 'The body must be a JSON object.');
  const [grantType, clientId, clientSecret, scope = ''] = PARAMETERS.map(parameter);
  if (grantType === undefined) throw new OAuthError('invalid_request', 'grant_type is missing.');
  const credentials = clientCredentials(clientId, clientSecret, authorization);
  if (grantType !== 'client_credentials')
    throw new OAuthError('unsupported_grant_type', 'The only grant_type is client_credentials.');
  const scopes = new Set(scope.split(' ').filter((name) => name !== ''));
  return { ...credentials, scopes: scopes.size === 0 ? undefined : [...scopes] };
}

type Credentials = Pick<TokenRequest, 'clientId' | 'clientSecret'>;

function clientCredentials(
  clientId: string | undefined,
  clientSecret: string | undefined,
  authorization: string | undefined,
): Credentials {
  if (authorization === undefined) {
    if (clientId === undefined || clientSecret === undefined)
      throw new OAuthError('invalid_client', 'client_id and client_secret are missing.');
    return { clientId, clientSecret };
  }
  const basic = basicCredentials(authorization);
  if (basic === undefined) throw new OAuthError('invalid_client', 'The Authorization header has no Basic credentials.');
  if (clientSecret !== undefined || (clientId ?? basic.clientId) !== basic.clientId)
    throw new OAuthError('invalid_request', 'Send the credentials in the body or by Basic, not both.');
  return basic;
}

/** Id and secret are form-encoded before they are joined (RFC 6749 §2.3.1). Undefined if the header has another form. */
function basicCredentials(authorization: string): Credentials | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(authorization)?.[1] ?? '';
  const [, id = '', secret = ''] = /^([^:]+):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString('utf8')) ?? [];
  if (id === '') return undefined;
  const formDecoded = (text: string) => decodeURIComponent(text.replaceAll('+', ' '));
  try {
    return { clientId: formDecoded(id), clientSecret: formDecoded(secret) };
  } catch {
    return undefined;
  }
}

const serverMetadata = (origin: string) => ({
  issuer: origin,
  token_endpoint: `${origin}/oauth/token`,
  scopes_supported: SCOPES,
  // No flow of this server has a front channel.
  response_types_supported: [],
  grant_types_supported: ['client_credentials'],
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  service_documentation: `${origin}/docs`,
});

/** Below `/.well-known`. */
export const discovery: Resource = {
  tag: 'token',
  operations: {
    'GET /oauth-authorization-server': {
      id: 'getAuthorizationServerMetadata',
      summary: 'Metadata by which an OAuth client gets a token (RFC 8414)',
      allow: 'anyone',
      answer: json.answer('The metadata.', { type: 'object' }),
      async handle(api, { req, res }) {
        await resolveTenant(api, req, res);
        const headers = { 'Cache-Control': 'public, max-age=300' };
        return { headers, body: JSON.stringify(serverMetadata(requestOrigin(req, api.config))) };
      },
    },
  },
};

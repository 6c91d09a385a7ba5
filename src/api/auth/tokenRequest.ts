/** Parses a token request: its parameters and the client's credentials (RFC 6749 §2.3.1, §4.4.2). Pure. */
import { shownName } from '../../domain/shownName.js';

/** The error codes of RFC 6749 §5.2 in use, with their status. */
const OAUTH_ERRORS = {
  invalid_request: 400,
  invalid_client: 401,
  unsupported_grant_type: 400,
  invalid_scope: 400,
} as const;
type OAuthErrorCode = keyof typeof OAUTH_ERRORS;

/** Answered in the form of RFC 6749 §5.2; the message becomes `error_description`. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  constructor(
    readonly code: OAuthErrorCode,
    description: string,
    readonly status: number = OAUTH_ERRORS[code],
    readonly headers: { readonly [name: string]: string } = {},
  ) {
    super(description);
  }
}

export type TokenRequest = {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Requested scopes, without duplicates; undefined: all of the client's. */
  readonly scopes: readonly string[] | undefined;
};

type TokenParameters = ReadonlyMap<string, string>;

/** Parameters of a form body. One without a value counts as absent; none may occur twice (RFC 6749 §3.2). */
export function formParameters(form: URLSearchParams): TokenParameters {
  const parameters = new Map<string, string>();
  const seen = new Set<string>();
  for (const [name, value] of form) {
    if (seen.has(name))
      throw new OAuthError('invalid_request', `The parameter ${printable(shownName(name))} is given twice.`);
    seen.add(name);
    if (value !== '') parameters.set(name, value);
  }
  return parameters;
}

/** Parameters of a JSON body: an object of strings. */
export function jsonParameters(body: unknown): TokenParameters {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new OAuthError('invalid_request', 'The body must be a JSON object.');
  }
  const parameters = new Map<string, string>();
  for (const name of ['grant_type', 'client_id', 'client_secret', 'scope']) {
    const value: unknown = Object.getOwnPropertyDescriptor(body, name)?.value ?? '';
    if (typeof value !== 'string') throw new OAuthError('invalid_request', `${name} must be a string.`);
    if (value !== '') parameters.set(name, value);
  }
  return parameters;
}

/** @throws OAuthError if the request is malformed, or names no client */
export function readTokenRequest(parameters: TokenParameters, authorization: string | undefined): TokenRequest {
  const grantType = parameters.get('grant_type');
  if (grantType === undefined) throw new OAuthError('invalid_request', 'grant_type is missing.');
  const credentials = clientCredentials(parameters, authorization);
  if (grantType !== 'client_credentials') {
    throw new OAuthError('unsupported_grant_type', 'The only grant_type is client_credentials.');
  }
  const scope = parameters.get('scope');
  const scopes = scope?.split(' ').filter((name) => name !== '') ?? [];
  return { ...credentials, scopes: scopes.length === 0 ? undefined : [...new Set(scopes)] };
}

type Credentials = Pick<TokenRequest, 'clientId' | 'clientSecret'>;

function clientCredentials(parameters: TokenParameters, authorization: string | undefined): Credentials {
  const clientId = parameters.get('client_id');
  const clientSecret = parameters.get('client_secret');
  if (authorization === undefined) {
    if (clientId === undefined || clientSecret === undefined) {
      throw new OAuthError('invalid_client', 'client_id and client_secret are missing.');
    }
    return { clientId, clientSecret };
  }
  const basic = basicCredentials(authorization);
  if (basic === undefined) throw new OAuthError('invalid_client', 'The Authorization header has no Basic credentials.');
  if (clientSecret !== undefined) {
    throw new OAuthError('invalid_request', 'Send the credentials in the body or by Basic, not both.');
  }
  if (clientId !== undefined && clientId !== basic.clientId) {
    throw new OAuthError('invalid_request', 'client_id differs from the one in the Authorization header.');
  }
  return basic;
}

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i;

/**
 * Id and secret are form-encoded before they are joined (RFC 6749 §2.3.1). Undefined if the header has another form.
 */
function basicCredentials(authorization: string): Credentials | undefined {
  const encoded = BASIC.exec(authorization)?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 1) return undefined;
  const clientId = formDecoded(text.slice(0, colon));
  const clientSecret = formDecoded(text.slice(colon + 1));
  return clientId === undefined || clientSecret === undefined ? undefined : { clientId, clientSecret };
}

function formDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

/** error_description is limited to printable ASCII without quotes and backslashes (RFC 6749 §5.2). */
export const printable = (text: string): string => text.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?');

/** Parses a token request: its parameters and the client's credentials (RFC 6749 §2.3.1, §4.4.2). Pure. */

/** The error codes of RFC 6749 §5.2 in use, with their status. */
const OAUTH_ERRORS = {
  invalid_request: 400,
  invalid_client: 401,
  unsupported_grant_type: 400,
  invalid_scope: 400,
} as const;

/** Answered in the form of RFC 6749 §5.2; the message becomes `error_description`. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  constructor(
    readonly code: keyof typeof OAUTH_ERRORS,
    description: string,
    readonly status: number = OAUTH_ERRORS[code],
    readonly headers: { readonly [name: string]: string } = {},
  ) {
    // Printable ASCII without quotes and backslashes alone.
    super(description.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?'));
  }
}

export type TokenRequest = {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Requested scopes, without duplicates; undefined: all of the client's. */
  readonly scopes: readonly string[] | undefined;
};

const PARAMETERS = ['grant_type', 'client_id', 'client_secret', 'scope'] as const;

/**
 * @param body a form, or parsed JSON. Other parameters are ignored, and those without a value count as absent (§3.2).
 * @throws OAuthError if the request is malformed, or names no client
 */
export function readTokenRequest(body: unknown, authorization: string | undefined): TokenRequest {
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

/** Id and secret are form-encoded before they are joined (§2.3.1). Undefined if the header has another form. */
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

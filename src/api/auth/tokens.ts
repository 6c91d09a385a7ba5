/** Access tokens: JWTs as in RFC 9068, signed with ES256. */
import { randomUUID } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { SigningKey } from '../../commands/identity/signingKeys.js';
import { permissionsOfScopes, SCOPES, type Scope } from '../../domain/identity/scopes.js';
import { OPERATOR_LINK_MINUTES, OPERATOR_SESSION_HOURS } from '../../domain/limits.js';
import type { Refresh } from '../directoryRefresh.js';
import type { SigningKeys } from './signingKeys.js';

export type TokenConfig = {
  /** The `iss` claim: a URL that names this installation. */
  readonly issuer: string;
  /** Lifetime of an API client's token. */
  readonly tokenTtlSeconds: number;
  /** Lifetime of a platform user's token. */
  readonly sessionTtlSeconds: number;
};

type IssuedToken = { readonly token: string; readonly expiresIn: number; readonly id: string };

/** The token is not accepted. The message says why, and may be shown (RFC 6750 §3.1). */
export class InvalidTokenError extends Error {
  override readonly name = 'InvalidTokenError';
}

const ALGORITHM = 'ES256';
const TOKEN_TYPE = 'at+jwt';
const CACHED_TOKENS = 10_000;
const CACHED_OPERATORS = 100;
const LONGEST_TOKEN = 4096;
/** A key id is a SHA-256 in base64url. */
const KEY_ID = /^[\w-]{43}$/;

const clientClaims = z
  .object({
    tenant: z.string(),
    client_id: z.string(),
    credential: z.string(),
    scope: z.string(),
    exp: z.number(),
  })
  .transform(({ tenant, client_id: clientId, credential, scope, exp: expiresAt }) => {
    const named = scope.split(' ');
    const permissions = permissionsOfScopes(SCOPES.filter((one) => named.includes(one)));
    return { tenant, clientId, credential, permissions, expiresAt };
  });
/**
 * `credential` identifies the secret that the token was issued for, so that a new secret ends it; see `credentialOf`.
 */
export type ClientToken = z.output<typeof clientClaims>;

const userClaims = z
  .object({ tenant: z.string(), user_id: z.int(), credential: z.string(), jti: z.string(), exp: z.number() })
  .transform(({ user_id: userId, jti: sessionId, exp: expiresAt, ...claims }) => ({
    ...claims,
    userId,
    sessionId,
    expiresAt,
  }));
/**
 * `credential` identifies the password that opened the session, so that a new password ends it; `sessionId` is recorded
 * at sign-out.
 */
export type UserToken = z.output<typeof userClaims>;

const operatorClaims = z
  .object({ operator: z.string(), jti: z.string(), exp: z.number() })
  .transform(({ operator, jti: id, exp: expiresAt }) => ({ operator, id, expiresAt }));
/** A link to the operator's console, or the session that it opens; `operator` is who made the link. */
export type OperatorToken = z.output<typeof operatorClaims>;

/** Kinds of tokens with their claims; `expiresAt` in seconds since the epoch. */
type Claims = { client: ClientToken; user: UserToken; operator: OperatorToken; operatorLink: OperatorToken };
type Kind = keyof Claims;

/** What a token of a kind is for, as its audience says: none is accepted for another. */
const KINDS: { readonly [K in Kind]: { readonly audience: string; readonly claims: z.ZodType<Claims[K]> } } = {
  client: { audience: 'dynamic-assets', claims: clientClaims },
  user: { audience: 'platform', claims: userClaims },
  operator: { audience: 'operator', claims: operatorClaims },
  operatorLink: { audience: 'operator/sessions', claims: operatorClaims },
};

type Known = { readonly [K in Kind]: LRUCache<string, Claims[K]> };
const nothingKnown = (): Known => ({
  client: new LRUCache({ max: CACHED_TOKENS }),
  user: new LRUCache({ max: CACHED_TOKENS }),
  operator: new LRUCache({ max: CACHED_OPERATORS }),
  operatorLink: new LRUCache({ max: CACHED_OPERATORS }),
});

const nowSeconds = (): number => Math.floor(Date.now() / 1000);

export class TokenService {
  readonly #keys: SigningKeys;
  readonly #config: TokenConfig;
  readonly #refresh: Refresh;
  /**
   * Verifying a signature takes longer than answering a read, so verified tokens are kept until they expire, or a key is
   * revoked.
   */
  #known = nothingKnown();
  #verifiedBy: object;

  /** @param refresh brings the keys up to the log: another process may have begun to sign with a new one */
  constructor(keys: SigningKeys, config: TokenConfig, refresh: Refresh) {
    this.#keys = keys;
    this.#config = config;
    this.#refresh = refresh;
    this.#verifiedBy = keys.stored;
  }

  /** @param credential `credentialOf` the secret; `verify` returns it for comparison */
  issueClientToken(tenant: string, clientId: string, credential: string, scopes: readonly Scope[]): IssuedToken {
    const claims = { client_id: clientId, credential, scope: scopes.join(' '), tenant };
    return this.#issue(clientId, 'client', claims, this.#config.tokenTtlSeconds);
  }

  /** @param credential `credentialOf` the password; `verify` returns it for comparison */
  issueUserToken(tenant: string, userId: number, credential: string): IssuedToken {
    const claims = { user_id: userId, credential, tenant };
    return this.#issue(`user:${userId}`, 'user', claims, this.#config.sessionTtlSeconds);
  }

  /** The token of a link that opens a session. */
  issueOperatorLink(operator: string): IssuedToken {
    return this.#issue(`operator:${operator}`, 'operatorLink', { operator }, OPERATOR_LINK_MINUTES * 60);
  }

  issueOperatorSession(operator: string): IssuedToken {
    return this.#issue(`operator:${operator}`, 'operator', { operator }, OPERATOR_SESSION_HOURS * 3600);
  }

  /**
   * Verifies a token. The caller checks that its client or user still exists, or that the link was not used. Rejects with
   * InvalidTokenError.
   */
  verify<K extends Kind>(kind: K, token: string): Promise<Claims[K]> | Claims[K] {
    if (this.#verifiedBy !== this.#keys.stored) {
      this.#verifiedBy = this.#keys.stored;
      this.#known = nothingKnown();
    }
    const known = this.#known[kind].get(token);
    return known !== undefined && known.expiresAt > nowSeconds() ? known : this.#verifyNow(kind, token);
  }

  async #verifyNow<K extends Kind>(kind: K, token: string): Promise<Claims[K]> {
    const { data } = KINDS[kind].claims.safeParse(await this.#claimsOf(token, this.#audienceOf(kind)));
    if (data === undefined) throw new InvalidTokenError('The token lacks claims.');
    this.#known[kind].set(token, data);
    return data;
  }

  #audienceOf(kind: Kind): string {
    return `${this.#config.issuer}/api/v1/${KINDS[kind].audience}`;
  }

  #issue(subject: string, kind: Kind, claims: object, expiresIn: number): IssuedToken {
    const { kid, privateKey } = this.#keys.current;
    const id = randomUUID();
    const token = jwt.sign(claims, privateKey, {
      algorithm: ALGORITHM,
      header: { alg: ALGORITHM, typ: TOKEN_TYPE, kid },
      issuer: this.#config.issuer,
      audience: this.#audienceOf(kind),
      subject,
      jwtid: id,
      expiresIn,
    });
    return { token, expiresIn, id };
  }

  async #keyOf(kid: string): Promise<SigningKey | undefined> {
    const known = this.#keys.find(kid);
    if (known !== undefined || !KEY_ID.test(kid)) return known;
    await this.#refresh(`signing key ${kid}`);
    return this.#keys.find(kid);
  }

  /** Checks signature, type, issuer, audience and time. @returns the claims */
  async #claimsOf(token: string, audience: string): Promise<unknown> {
    if (token.length > LONGEST_TOKEN) throw new InvalidTokenError('The token is malformed.');
    const header = decodeHeader(token);
    if (header?.alg !== ALGORITHM || header.typ !== TOKEN_TYPE || header.kid === undefined) {
      throw new InvalidTokenError('The token is malformed, or not signed by this service.');
    }
    const key = await this.#keyOf(header.kid);
    if (key === undefined) throw new InvalidTokenError('The token is signed with an unknown key.');
    try {
      return jwt.verify(token, key.publicKey, { algorithms: [ALGORITHM], issuer: this.#config.issuer, audience });
    } catch (error) {
      if (error instanceof jwt.TokenExpiredError) throw new InvalidTokenError('The token has expired.');
      // A signature of the wrong length throws a plain TypeError.
      if (error instanceof jwt.JsonWebTokenError || error instanceof TypeError) {
        throw new InvalidTokenError('The token is not valid here.');
      }
      throw error;
    }
  }
}

/** jsonwebtoken throws a plain SyntaxError for a header that is not JSON. */
function decodeHeader(token: string): jwt.JwtHeader | undefined {
  try {
    return jwt.decode(token, { complete: true })?.header;
  } catch {
    return undefined;
  }
}

/** Access tokens: JWTs as in RFC 9068, signed with ES256. */
import { randomUUID } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { SigningKey } from '../../commands/identity/signingKeys.js';
import { SCOPES, type Scope } from '../../domain/identity/scopes.js';
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
    // Absent in tokens of version 0.2, which are accepted until they expire.
    credential: z.string().optional(),
    scope: z.string(),
    exp: z.number(),
  })
  .transform(({ tenant, client_id: clientId, credential, scope, exp: expiresAt }) => {
    const named = scope.split(' ');
    const scopes: ReadonlySet<Scope> = new Set(SCOPES.filter((one) => named.includes(one)));
    return { tenant, clientId, credential, scopes, expiresAt };
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

/** `expiresAt` in seconds since the epoch. */
type Verified = { readonly expiresAt: number };

/** The audience of a token: none is accepted for another part. */
type ApiPart = 'dynamic-assets' | 'platform' | 'operator' | 'operator/sessions';

const nowSeconds = (): number => Math.floor(Date.now() / 1000);

export class TokenService {
  readonly #keys: SigningKeys;
  readonly #config: TokenConfig;
  readonly #refresh: Refresh;
  // Verifying a signature takes longer than answering a read, so verified tokens are cached until they expire, or a key is
  // revoked.
  readonly #clients = new LRUCache<string, ClientToken>({ max: CACHED_TOKENS });
  readonly #users = new LRUCache<string, UserToken>({ max: CACHED_TOKENS });
  readonly #operators = new LRUCache<string, OperatorToken>({ max: CACHED_OPERATORS });
  #verifiedBy: object;

  /** @param refresh brings the keys up to the log: another process may have begun to sign with a new one */
  constructor(keys: SigningKeys, config: TokenConfig, refresh: Refresh) {
    this.#keys = keys;
    this.#config = config;
    this.#refresh = refresh;
    this.#verifiedBy = keys.stored;
  }

  /** The public keys of tokens. */
  jwks() {
    return this.#keys.jwks();
  }

  /** @param credential `credentialOf` the secret; `clientOf` returns it for comparison */
  issueClientToken(tenant: string, clientId: string, credential: string, scopes: readonly Scope[]): IssuedToken {
    const claims = { client_id: clientId, credential, scope: scopes.join(' '), tenant };
    return this.#issue(clientId, 'dynamic-assets', claims, this.#config.tokenTtlSeconds);
  }

  /** @param credential `credentialOf` the password; `userOf` returns it for comparison */
  issueUserToken(tenant: string, userId: number, credential: string): IssuedToken {
    const claims = { user_id: userId, credential, tenant };
    return this.#issue(`user:${userId}`, 'platform', claims, this.#config.sessionTtlSeconds);
  }

  /** The token of a link that opens a session. */
  issueOperatorLink(operator: string): IssuedToken {
    return this.#issue(`operator:${operator}`, 'operator/sessions', { operator }, OPERATOR_LINK_MINUTES * 60);
  }

  issueOperatorSession(operator: string): IssuedToken {
    return this.#issue(`operator:${operator}`, 'operator', { operator }, OPERATOR_SESSION_HOURS * 3600);
  }

  /** The caller checks that it was not used before. Rejects with InvalidTokenError. */
  operatorLinkOf(token: string): Promise<OperatorToken> {
    return this.#verify(token, 'operator/sessions', operatorClaims);
  }

  /** Rejects with InvalidTokenError. */
  operatorOf(token: string): Promise<OperatorToken> | OperatorToken {
    return this.#verified(this.#operators, token) ?? this.#verify(token, 'operator', operatorClaims, this.#operators);
  }

  /**
   * Verifies a client's token for the asset API. The caller checks that the client still exists. Rejects with
   * InvalidTokenError.
   */
  clientOf(token: string): Promise<ClientToken> | ClientToken {
    return this.#verified(this.#clients, token) ?? this.#verify(token, 'dynamic-assets', clientClaims, this.#clients);
  }

  /**
   * Verifies a user's token for the platform API. The caller checks that the user still exists. Rejects with
   * InvalidTokenError.
   */
  userOf(token: string): Promise<UserToken> | UserToken {
    return this.#verified(this.#users, token) ?? this.#verify(token, 'platform', userClaims, this.#users);
  }

  /** A cached token, unless it has expired. */
  #verified<T extends Verified>(cache: LRUCache<string, T>, token: string): T | undefined {
    if (this.#verifiedBy !== this.#keys.stored) {
      this.#verifiedBy = this.#keys.stored;
      this.#clients.clear();
      this.#users.clear();
      this.#operators.clear();
    }
    const known = cache.get(token);
    return known !== undefined && known.expiresAt > nowSeconds() ? known : undefined;
  }

  #audience(part: ApiPart): string {
    return `${this.#config.issuer}/api/v1/${part}`;
  }

  #issue(subject: string, part: ApiPart, claims: object, expiresIn: number): IssuedToken {
    const { kid, privateKey } = this.#keys.current;
    const id = randomUUID();
    const token = jwt.sign(claims, privateKey, {
      algorithm: ALGORITHM,
      header: { alg: ALGORITHM, typ: TOKEN_TYPE, kid },
      issuer: this.#config.issuer,
      audience: this.#audience(part),
      subject,
      jwtid: id,
      expiresIn,
    });
    return { token, expiresIn, id };
  }

  async #verify<T extends Verified>(
    token: string,
    part: ApiPart,
    claims: z.ZodType<T>,
    cache?: LRUCache<string, T>,
  ): Promise<T> {
    const verified = claims.safeParse(await this.#claimsOf(token, part));
    if (!verified.success) throw new InvalidTokenError('The token lacks claims.');
    cache?.set(token, verified.data);
    return verified.data;
  }

  async #keyOf(kid: string): Promise<SigningKey | undefined> {
    const known = this.#keys.find(kid);
    if (known !== undefined || !KEY_ID.test(kid)) return known;
    await this.#refresh(`signing key ${kid}`);
    return this.#keys.find(kid);
  }

  /** Checks signature, type, issuer, audience and time. @returns the claims */
  async #claimsOf(token: string, part: ApiPart): Promise<unknown> {
    if (token.length > LONGEST_TOKEN) throw new InvalidTokenError('The token is malformed.');
    const header = decodeHeader(token);
    if (header?.alg !== ALGORITHM || header.typ !== TOKEN_TYPE || header.kid === undefined) {
      throw new InvalidTokenError('The token is malformed, or not signed by this service.');
    }
    const key = await this.#keyOf(header.kid);
    if (key === undefined) throw new InvalidTokenError('The token is signed with an unknown key.');
    const audience = this.#audience(part);
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

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
const LONGEST_TOKEN = 4096;
/** A key id is a SHA-256 in base64url. */
const KEY_ID = /^[\w-]{43}$/;

const operatorClaims = z
  .object({ operator: z.string(), jti: z.string(), exp: z.number() })
  .transform(({ operator, jti: id, exp: expiresAt }) => ({ operator, id, expiresAt }));

/**
 * The claims of each kind of token; `expiresAt` in seconds since the epoch. `credential` identifies the secret or password
 * that it was issued for, so that a new one ends it; see `credentialOf`.
 */
const CLAIMS = {
  client: z
    .object({ tenant: z.string(), client_id: z.string(), credential: z.string(), scope: z.string(), exp: z.number() })
    .transform(({ tenant, client_id: clientId, credential, scope, exp: expiresAt }) => {
      const named = scope.split(' ');
      const permissions = permissionsOfScopes(SCOPES.filter((one) => named.includes(one)));
      return { tenant, clientId, credential, permissions, expiresAt };
    }),
  user: z
    .object({ tenant: z.string(), user_id: z.int(), credential: z.string(), jti: z.string(), exp: z.number() })
    .transform(({ tenant, user_id: userId, credential, jti: sessionId, exp: expiresAt }) => ({
      tenant,
      userId,
      credential,
      sessionId,
      expiresAt,
    })),
  /** A session of the operator's console. */
  operator: operatorClaims,
  /** A link that opens one; `operator` is who made it. */
  operatorLink: operatorClaims,
};

type Kind = keyof typeof CLAIMS;
type Claims = { readonly [K in Kind]: z.output<(typeof CLAIMS)[K]> };
export type ClientToken = Claims['client'];
export type UserToken = Claims['user'];
export type OperatorToken = Claims['operator'];

/** What a token of a kind is for: none is accepted for another. */
const AUDIENCES = {
  client: 'dynamic-assets',
  user: 'platform',
  operator: 'operator',
  operatorLink: 'operator/sessions',
} as const satisfies { readonly [K in Kind]: string };

export class TokenService {
  readonly #keys: SigningKeys;
  readonly #config: TokenConfig;
  readonly #refresh: Refresh;
  /**
   * Verifying a signature takes longer than answering a read, so verified tokens are kept until they expire, or a key is
   * revoked.
   */
  readonly #known = new LRUCache<string, Claims[Kind]>({ max: CACHED_TOKENS });
  #verifiedBy: object;

  /** @param refresh brings the keys up to the log: another process may have begun to sign with a new one */
  constructor(keys: SigningKeys, config: TokenConfig, refresh: Refresh) {
    this.#keys = keys;
    this.#config = config;
    this.#refresh = refresh;
    this.#verifiedBy = keys.stored;
  }

  issueClientToken(tenant: string, clientId: string, credential: string, scopes: readonly Scope[]): IssuedToken {
    const claims = { client_id: clientId, credential, scope: scopes.join(' '), tenant };
    return this.#issue(clientId, 'client', claims, this.#config.tokenTtlSeconds);
  }

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

  /** Whether it says that it is of an API client. */
  isOfClient = (token: string): boolean => Object(decoded(token)?.payload).aud === this.#audienceOf('client');

  /**
   * Verifies a token. The caller checks that its client or user still exists, or that the link was not used. Rejects with
   * InvalidTokenError.
   */
  verify<K extends Kind>(kind: K, token: string): Promise<Claims[K]> | Claims[K] {
    if (this.#verifiedBy !== this.#keys.stored) {
      this.#verifiedBy = this.#keys.stored;
      this.#known.clear();
    }
    const known = this.#known.get(`${kind} ${token}`);
    return known !== undefined && known.expiresAt > Date.now() / 1000
      ? (known as Claims[K])
      : this.#verifyNow(kind, token);
  }

  async #verifyNow<K extends Kind>(kind: K, token: string): Promise<Claims[K]> {
    const { data } = CLAIMS[kind].safeParse(await this.#claimsOf(token, this.#audienceOf(kind)));
    if (data === undefined) throw new InvalidTokenError('The token lacks claims.');
    this.#known.set(`${kind} ${token}`, data);
    return data as Claims[K];
  }

  #audienceOf(kind: Kind): string {
    return `${this.#config.issuer}/api/v1/${AUDIENCES[kind]}`;
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
    await this.#refresh();
    return this.#keys.find(kid);
  }

  /** Checks signature, type, issuer, audience and time. @returns the claims */
  async #claimsOf(token: string, audience: string): Promise<unknown> {
    const header = token.length > LONGEST_TOKEN ? undefined : decoded(token)?.header;
    if (header?.alg !== ALGORITHM || header.typ !== TOKEN_TYPE || header.kid === undefined)
      throw new InvalidTokenError('The token is malformed, or not signed by this service.');
    const key = await this.#keyOf(header.kid);
    if (key === undefined) throw new InvalidTokenError('The token is signed with an unknown key.');
    try {
      return jwt.verify(token, key.publicKey, { algorithms: [ALGORITHM], issuer: this.#config.issuer, audience });
    } catch (error) {
      if (error instanceof jwt.TokenExpiredError) throw new InvalidTokenError('The token has expired.');
      // A signature of the wrong length throws a plain TypeError.
      if (error instanceof jwt.JsonWebTokenError || error instanceof TypeError)
        throw new InvalidTokenError('The token is not valid here.');
      throw error;
    }
  }
}

/** jsonwebtoken throws a plain SyntaxError for a header that is not JSON. */
function decoded(token: string): jwt.Jwt | undefined {
  try {
    return jwt.decode(token, { complete: true }) ?? undefined;
  } catch {
    return undefined;
  }
}

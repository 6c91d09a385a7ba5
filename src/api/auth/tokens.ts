/** Access tokens: JWTs as in RFC 9068, signed with ES256 by keys that the log has (`domain/identity/signingKeys.ts`). */
import { randomUUID } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { type SecretBox, TryLaterError, UnopenableSecretError } from '../../commands/context.js';
import { openedKey, type SigningKey } from '../../commands/identity/signingKeys.js';
import type { Config } from '../../config.js';
import { permissionsOfScopes, SCOPES } from '../../domain/identity/scopes.js';
import { type StoredSigningKeys, verifyingKeys } from '../../domain/identity/signingKeys.js';
import { OPERATOR_LINK_MINUTES, OPERATOR_SESSION_HOURS } from '../../domain/limits.js';
import { invalidToken } from '../errors.js';

type TokenKeys = {
  /** Another object after each change. */
  readonly stored: () => StoredSigningKeys;
  readonly secretBox: SecretBox;
  /** Called once for a key that this process cannot open. */
  readonly onUnopenable?: (kid: string) => void;
  /** Brings the keys up to the log: another process may have begun to sign with a new one. */
  readonly refresh?: () => Promise<void>;
};

type IssuedToken = { readonly token: string; readonly expiresIn: number; readonly id: string };

const ALGORITHM = 'ES256';
const TOKEN_TYPE = 'at+jwt';
const CACHED_TOKENS = 10_000;
const LONGEST_TOKEN = 4096;
const USER_SESSION_SECONDS = 8 * 3600;

const registered = { jti: z.string(), exp: z.number() };
const ofOperator = z.object({ ...registered, operator: z.string() });

/** The claims of each kind of token. `credential` identifies the secret or password that it was issued for: see `credentialOf`. */
const CLAIMS = {
  client: z
    .object({ ...registered, tenant: z.string(), client_id: z.string(), credential: z.string(), scope: z.string() })
    .transform(({ scope, ...claims }) => {
      const named = scope.split(' ');
      return { ...claims, permissions: permissionsOfScopes(SCOPES.filter((one) => named.includes(one))) };
    }),
  user: z.object({ ...registered, tenant: z.string(), user_id: z.int(), credential: z.string() }),
  /** A session of the operator's console. */
  operator: ofOperator,
  /** A link that opens one; `operator` is who made it. */
  operatorLink: ofOperator,
};

type Kind = keyof typeof CLAIMS;
type Claims = { readonly [K in Kind]: z.output<(typeof CLAIMS)[K]> };
/** `issue` adds the others. */
type IssuedClaims<K extends Kind> = Omit<z.input<(typeof CLAIMS)[K]>, 'jti' | 'exp'>;
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
  /** By their sealed text; undefined if this process cannot open it. */
  readonly #opened = new Map<string, SigningKey | undefined>();
  /**
   * Verifying a signature takes longer than answering a read, so verified tokens are kept until they expire, or a key is
   * revoked.
   */
  readonly #known = new LRUCache<string, Claims[Kind]>({ max: CACHED_TOKENS });
  #verifiedBy: StoredSigningKeys;

  constructor(
    private readonly config: Pick<Config, 'BASE_HOST' | 'TOKEN_TTL_SECONDS'>,
    private readonly keys: TokenKeys,
  ) {
    this.#verifiedBy = keys.stored();
  }

  /** @throws TryLaterError when this process can open no key */
  issue<K extends Kind>(kind: K, subject: string, claims: IssuedClaims<K>): IssuedToken {
    // While this process cannot open the latest key, an earlier one signs.
    const [key] = this.#verifying();
    if (key === undefined) throw new TryLaterError('This process has no key that signs tokens.');
    const id = randomUUID();
    const expiresIn = {
      client: this.config.TOKEN_TTL_SECONDS,
      user: USER_SESSION_SECONDS,
      operator: OPERATOR_SESSION_HOURS * 3600,
      operatorLink: OPERATOR_LINK_MINUTES * 60,
    }[kind];
    const token = jwt.sign(claims, key.privateKey, {
      algorithm: ALGORITHM,
      header: { alg: ALGORITHM, typ: TOKEN_TYPE, kid: key.kid },
      ...this.#namesOf(kind),
      subject,
      jwtid: id,
      expiresIn,
    });
    return { token, expiresIn, id };
  }

  /** Whether it says that it is of an API client. */
  isOfClient = (token: string): boolean => Object(decoded(token)?.payload).aud === this.#namesOf('client').audience;

  /**
   * Verifies a token. The caller checks that its client or user still exists, or that the link was not used. @throws
   * HttpError 401
   */
  async verify<K extends Kind>(kind: K, token: string): Promise<Claims[K]> {
    const stored = this.keys.stored();
    if (this.#verifiedBy !== stored) {
      this.#verifiedBy = stored;
      this.#known.clear();
    }
    const known = this.#known.get(`${kind} ${token}`);
    if (known !== undefined && known.exp > Date.now() / 1000) return known as Claims[K];
    const { data } = CLAIMS[kind].safeParse(await this.#claimsOf(kind, token));
    if (data === undefined) throw invalidToken('The token lacks claims.');
    this.#known.set(`${kind} ${token}`, data);
    return data as Claims[K];
  }

  #namesOf(kind: Kind) {
    const issuer = `https://${this.config.BASE_HOST}`;
    return { issuer, audience: `${issuer}/api/v1/${AUDIENCES[kind]}` };
  }

  /** Those that this process can open, the latest first. */
  #verifying(): readonly SigningKey[] {
    return verifyingKeys(this.keys.stored(), Date.now()).flatMap((each) => {
      if (!this.#opened.has(each.sealedKey)) this.#opened.set(each.sealedKey, this.#open(each));
      return this.#opened.get(each.sealedKey) ?? [];
    });
  }

  #open(stored: StoredSigningKeys[number]): SigningKey | undefined {
    try {
      return openedKey(this.keys.secretBox, stored);
    } catch (error) {
      if (!(error instanceof UnopenableSecretError)) throw error;
      this.keys.onUnopenable?.(stored.kid);
      return undefined;
    }
  }

  /** Checks signature, type, issuer, audience and time. @returns the claims */
  async #claimsOf(kind: Kind, token: string): Promise<unknown> {
    const header = token.length > LONGEST_TOKEN ? undefined : decoded(token)?.header;
    if (header?.alg !== ALGORITHM || header.typ !== TOKEN_TYPE)
      throw invalidToken('The token is malformed, or not signed by this service.');
    const find = () => this.#verifying().find(({ kid }) => kid === header.kid);
    let key = find();
    if (key === undefined) {
      await this.keys.refresh?.();
      key = find();
    }
    if (key === undefined) throw invalidToken('The token is signed with an unknown key.');
    try {
      return jwt.verify(token, key.publicKey, { algorithms: [ALGORITHM], ...this.#namesOf(kind) });
    } catch (error) {
      if (error instanceof jwt.TokenExpiredError) throw invalidToken('The token has expired.');
      // A signature of the wrong length throws a plain TypeError.
      if (error instanceof jwt.JsonWebTokenError || error instanceof TypeError)
        throw invalidToken('The token is not valid here.');
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

import type { Logger } from 'pino';
import { SigningKeys } from '../api/auth/signingKeys.js';
import { TokenService } from '../api/auth/tokens.js';
import { directoryRefresh, type Refresh } from '../api/directoryRefresh.js';
import type { Commands, TenantDirectory } from '../commands/context.js';
import type { Config } from '../config.js';
import type { StoredSigningKeys } from '../domain/identity/signingKeys.js';
import { KEY_OVERLAP_HOURS } from '../domain/limits.js';

const SESSION_SECONDS = 8 * 3600;

type TokenDeps = Pick<Commands, 'eventStore' | 'secretBox'> & {
  readonly directory: TenantDirectory & { readonly signingKeys: StoredSigningKeys };
  readonly log: Logger;
};

type TokenConfig = Pick<Config, 'BASE_HOST' | 'TOKEN_TTL_SECONDS'>;

/** Makes and checks tokens with the keys that the directory has of the log. */
export function openTokens(config: TokenConfig, deps: TokenDeps): TokenService {
  const { directory, secretBox, log } = deps;
  const onUnopenable = (kid: string): void =>
    log.error({ kid }, 'a signing key cannot be opened: another process has a SECRETS_KEY that this one lacks');
  const stored = () => directory.signingKeys;
  return tokenService(config, { stored, secretBox, onUnopenable }, directoryRefresh(deps));
}

/** @param stored keys as they are now, for a command, which ends soon */
export const tokensOfCommand = (
  config: TokenConfig,
  stored: StoredSigningKeys,
  secretBox: Commands['secretBox'],
): TokenService =>
  tokenService(config, { stored: () => stored, secretBox, onUnopenable: () => undefined }, async () => undefined);

function tokenService(
  config: TokenConfig,
  keys: Omit<ConstructorParameters<typeof SigningKeys>[0], 'overlapMs'>,
  refresh: Refresh,
): TokenService {
  const settings = {
    issuer: `https://${config.BASE_HOST}`,
    tokenTtlSeconds: config.TOKEN_TTL_SECONDS,
    sessionTtlSeconds: SESSION_SECONDS,
  };
  return new TokenService(new SigningKeys({ ...keys, overlapMs: KEY_OVERLAP_HOURS * 3_600_000 }), settings, refresh);
}

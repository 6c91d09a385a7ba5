/** A log in memory with keys that sign tokens, as processes with one data directory each, or without any, use it. */
import jwt from 'jsonwebtoken';
import { TokenService } from '#app/api/auth/tokens.js';
import { newId } from '#app/commands/clock.js';
import type { LogAccess } from '#app/commands/writeStream.js';
import { evolveSigningKeys, type SigningKeyEvent, type StoredSigningKeys } from '#app/domain/identity/signingKeys.js';
import { SIGNING_KEYS_STREAM } from '#app/domain/streams.js';
import { createSecretBox } from '#app/service/keys.js';
import { LogInMemory } from './commands/logInMemory.js';

export const keyOf = (byte: number) => Buffer.alloc(32, byte);

export class SigningKeyLog {
  readonly log = new LogInMemory();
  readonly access: LogAccess = {
    eventStore: this.log.commands().eventStore,
    now: () => new Date().toISOString().replace('Z', '000Z'),
    newId,
  };

  stored(): StoredSigningKeys {
    return this.log
      .stream(SIGNING_KEYS_STREAM)
      .reduce<StoredSigningKeys>(
        (keys, { type, data, metadata }) =>
          evolveSigningKeys(keys, { type, data } as SigningKeyEvent, metadata.occurredAt),
        [],
      );
  }

  /** @param byte of its key for secrets */
  commands(byte = 1) {
    return { ...this.access, secretBox: createSecretBox(keyOf(byte)) };
  }

  /**
   * A process that knows the keys as of its last look at the log, which it has at each refresh.
   * @param bytes of its keys for secrets
   */
  process(...bytes: readonly number[]) {
    let known = this.stored();
    const look = (): void => {
      const stored = this.stored();
      if (stored.length !== known.length || JSON.stringify(stored) !== JSON.stringify(known)) known = stored;
    };
    const unopenable: string[] = [];
    const [first = keyOf(1), ...others] = bytes.map(keyOf);
    const config = { BASE_HOST: 'localhost', TOKEN_TTL_SECONDS: 60 };
    const tokens = new TokenService(config, {
      stored: () => known,
      secretBox: createSecretBox(first, ...others),
      onUnopenable: (kid) => unopenable.push(kid),
      refresh: async () => look(),
    });
    const claims = { tenant: 'acme', client_id: 'c', credential: 'credential', scope: 'read:order_data' };
    const issue = (): string => tokens.issue('client', 'c', claims).token;
    /** Id of the key that signs. */
    const signer = () => jwt.decode(issue(), { complete: true })?.header.kid;
    return { signer, tokens, issue, look, unopenable };
  }
}

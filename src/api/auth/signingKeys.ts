/** The keys that sign and verify access tokens, opened from what the log has of them (`domain/identity/signingKeys.ts`). */
import { type SecretBox, TryAgainError, UnopenableSecretError } from '../../commands/context.js';
import { openedKey, type SigningKey } from '../../commands/identity/signingKeys.js';
import { type StoredSigningKeys, verifyingKeys } from '../../domain/identity/signingKeys.js';

type SigningKeySource = {
  /** Another object after each change. */
  readonly stored: () => StoredSigningKeys;
  readonly secretBox: Pick<SecretBox, 'open'>;
  /** How long a key verifies after another one signs. */
  readonly overlapMs: number;
  /** Called once for a key that this process cannot open. */
  readonly onUnopenable: (kid: string) => void;
};

export class SigningKeys {
  readonly #source: SigningKeySource;
  #seen: StoredSigningKeys = [];
  /** By their sealed text; undefined if it cannot be opened. Kept while the stored keys are the same. */
  #opened = new Map<string, SigningKey | undefined>();

  constructor(source: SigningKeySource) {
    this.#source = source;
  }

  /** Another object after each change of the keys. */
  get stored(): StoredSigningKeys {
    return this.#source.stored();
  }

  /** The key that signs. While this process cannot open the latest one, an earlier one does. @throws TryAgainError */
  get current(): SigningKey {
    const [key] = this.#verifying();
    if (key === undefined) throw new TryAgainError('This process has no key that signs tokens.');
    return key;
  }

  /** The key with this id, if it verifies. */
  find(kid: string): SigningKey | undefined {
    return this.#verifying().find((key) => key.kid === kid);
  }

  #verifying(): readonly SigningKey[] {
    const { stored } = this;
    if (stored !== this.#seen) {
      const known = new Map(stored.map(({ sealedKey }) => [sealedKey, this.#opened.get(sealedKey)] as const));
      this.#opened = new Map([...known].filter(([, key]) => key !== undefined));
      this.#seen = stored;
    }
    return verifyingKeys(stored, Date.now(), this.#source.overlapMs).flatMap((each) => {
      if (!this.#opened.has(each.sealedKey)) this.#opened.set(each.sealedKey, this.#open(each));
      return this.#opened.get(each.sealedKey) ?? [];
    });
  }

  #open(stored: StoredSigningKeys[number]): SigningKey | undefined {
    try {
      return openedKey(this.#source.secretBox, stored);
    } catch (error) {
      if (!(error instanceof UnopenableSecretError)) throw error;
      this.#source.onUnopenable(stored.kid);
      return undefined;
    }
  }
}

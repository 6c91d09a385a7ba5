/** Keeps secrets that must be readable again (signing keys of webhooks) sealed in the log. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { type SecretBox, UnopenableSecretError } from '../commands/context.js';

const ALGORITHM = 'aes-256-gcm';
export const SECRET_KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Names the form of what follows, so that it can change. */
const PREFIX = 'v1.';

/**
 * AES-256-GCM (NIST SP 800-38D) with a random nonce: `v1.` and base64url of nonce, tag and cipher text. Which key sealed
 * is not noted: the tag is right under that key only.
 * @param key 32 bytes; seals, and opens
 * @param others 32 bytes each; they only open
 * @throws Error when a key has another length
 */
export function createSecretBox(key: Uint8Array, ...others: readonly Uint8Array[]): SecretBox {
  const keys = [key, ...others];
  if (keys.some(({ length }) => length !== SECRET_KEY_BYTES)) {
    throw new Error(`The secret key must have ${SECRET_KEY_BYTES} bytes.`);
  }
  const open = (sealed: string): string => {
    for (const each of keys) {
      const plain = unsealed(each, sealed);
      if (plain !== undefined) return plain;
    }
    throw new UnopenableSecretError('A sealed secret cannot be opened: it was sealed under another key.');
  };
  return {
    seal: (plain) => sealedUnder(key, plain),
    open,
    reseal: (sealed) => (unsealed(key, sealed) === undefined ? sealedUnder(key, open(sealed)) : undefined),
  };
}

function sealedUnder(key: Uint8Array, plain: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
  const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
  return PREFIX + Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
}

/** undefined when it was sealed under another key, or changed since. @throws UnopenableSecretError: an unknown form */
function unsealed(key: Uint8Array, sealed: string): string | undefined {
  if (!sealed.startsWith(PREFIX)) throw new UnopenableSecretError('The sealed secret has an unknown form.');
  const bytes = Buffer.from(sealed.slice(PREFIX.length), 'base64url');
  const nonce = bytes.subarray(0, NONCE_BYTES);
  try {
    const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    const plain = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES));
    return Buffer.concat([plain, decipher.final()]).toString('utf8');
  } catch {
    // The tag is not right under this key, or parts are missing.
    return undefined;
  }
}

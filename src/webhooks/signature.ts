import { createHmac } from 'node:crypto';

/**
 * The `Signature` header (spec §6.3): HMAC-SHA256 (RFC 4868) over the raw bytes of the body, hex, lower case.
 * @param secret as it was shown when the webhook was made, `whsec_` included; its UTF-8 bytes are the key
 */
export const signatureOf = (body: Uint8Array, secret: string): string =>
  createHmac('sha256', secret).update(body).digest('hex');

import { createHash, type KeyObject } from 'node:crypto';

/** Key id of an EC public key: its SHA-256 thumbprint (RFC 7638 §3), base64url. */
export function jwkThumbprint(publicKey: KeyObject): string {
  const { crv, kty, x, y } = publicKey.export({ format: 'jwk' });
  return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
}

/** Signatures of webhook calls: spec §6.3, and Standard Webhooks 1.0.0 beside it. */
import { createHmac } from 'node:crypto';

/**
 * The `Signature` header (spec §6.3): HMAC-SHA256 (RFC 4868) over the raw bytes of the body, hex, lower case.
 * @param secret as it was shown when the webhook was made, `whsec_` included; its UTF-8 bytes are the key
 */
export const signatureOf = (body: Uint8Array, secret: string): string =>
  createHmac('sha256', secret).update(body).digest('hex');

export type SignedCall = {
  readonly body: Uint8Array;
  /** The same for every attempt; without a full stop, which separates what is signed. */
  readonly messageId: string;
  /** Of this attempt, Unix seconds. */
  readonly timestamp: number;
  /** As they were shown, `whsec_` included; a staged one while a rotation is under way. */
  readonly secrets: readonly [primary: string, staged?: string];
};

export type SignatureHeaders = {
  readonly Signature: string;
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
};

/**
 * The headers that prove where a call comes from. `webhook-signature` has one signature for each secret, the primary's
 * first (Standard Webhooks 1.0.0, "Signature scheme"); `Signature` holds exactly one, by the primary.
 */
export function signatureHeaders({ body, messageId, timestamp, secrets }: SignedCall): SignatureHeaders {
  const signatures = secrets.flatMap((secret) =>
    secret === undefined ? [] : [`v1,${standardSignature(body, messageId, timestamp, secret)}`],
  );
  return {
    Signature: signatureOf(body, secrets[0]),
    'webhook-id': messageId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  };
}

/** Unlike in `Signature`, the key is the bytes that the secret encodes. */
function standardSignature(body: Uint8Array, messageId: string, timestamp: number, secret: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  return createHmac('sha256', key).update(`${messageId}.${timestamp}.`).update(body).digest('base64');
}

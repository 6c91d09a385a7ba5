// Does a request come from the service? Reads the raw body from standard input; exit code 0 means yes, 1 no.
//   node verify.mjs whsec_… 'webhook-id: …' 'webhook-timestamp: …' 'webhook-signature: …' < body.json
//   node verify.mjs whsec_… 'Signature: …' < body.json
import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';

const TOLERANCE_SECONDS = 300;

/** Compares in constant time, which does not show how much was right. */
function same(given, expected) {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** `webhook-signature`: one of its entries must be right, and the request fresh. */
export function verifyStandard(body, headers, secret) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers;
  if (!id || !signatures || !/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64');
  return signatures.split(' ').some((entry) => same(entry, `v1,${expected}`));
}

/** `Signature`: over the body alone; the key is the whole secret as text. */
export function verifySignature(body, headers, secret) {
  return same(headers.signature ?? '', createHmac('sha256', secret).update(body).digest('hex'));
}

const [secret, ...lines] = process.argv.slice(2);
const headers = Object.fromEntries(
  lines.map((line) => line.split(/:\s*/, 2)).map(([name, value]) => [name.toLowerCase(), value]),
);
const body = readFileSync(0);
// A receiver always uses the same one of the two: the sender must not choose the weaker one by leaving headers out.
const verify = 'webhook-signature' in headers ? verifyStandard : verifySignature;
process.exitCode = verify(body, headers, secret) ? 0 : 1;

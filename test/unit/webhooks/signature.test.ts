import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { retryAfterMs } from '#app/webhooks/httpsTransport.js';
import { signatureHeaders, signatureOf } from '#app/webhooks/webhookRequest.js';

describe('Signature (spec §6.3)', () => {
  test('is the test vector of RFC 4231 §4.3 (HMAC-SHA-256, key "Jefe")', () => {
    expect(signatureOf(Buffer.from('what do ya want for nothing?'), 'Jefe')).toBe(
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    );
  });
});

const vector = z.strictObject({
  secrets: z.tuple([z.string()]).or(z.tuple([z.string(), z.string()])),
  body: z.string(),
  headers: z.record(z.string(), z.string()),
});

const vectors = z
  .array(vector)
  .parse(JSON.parse(readFileSync(resolve(__dirname, '../../../docs/snippets/vectors.json'), 'utf8')));

describe('signed headers (Standard Webhooks 1.0.0)', () => {
  const secrets = [
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    'whsec_ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=',
  ] as const;
  const call = {
    body: Buffer.from('{"test": 2432232314}'),
    messageId: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestamp: 1614265330,
  };
  const published = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';

  test('are the vector that the reference libraries of the standard test with', () => {
    expect(signatureHeaders({ ...call, secrets: [secrets[0]] })).toEqual({
      Signature: signatureOf(call.body, secrets[0]),
      'webhook-id': call.messageId,
      'webhook-timestamp': '1614265330',
      'webhook-signature': published,
    });
  });

  test('docs/snippets/vectors.json is what is sent', () => {
    expect(vectors.map(({ secrets: { length } }) => length)).toEqual([1, 1, 2]);
    for (const { secrets: given, body, headers } of vectors) {
      const messageId = headers['webhook-id'] ?? '';
      const timestamp = Number(headers['webhook-timestamp']);
      expect(signatureHeaders({ body: Buffer.from(body), messageId, timestamp, secrets: given })).toEqual(headers);
    }
  });
});

describe('Retry-After (RFC 9110 §10.2.3)', () => {
  const now = Date.parse('2026-11-21T12:00:00Z');
  test.each([
    [undefined, undefined],
    ['', undefined],
    ['soon', undefined],
    ['0', 0],
    ['120', 120_000],
    ['Sat, 21 Nov 2026 12:01:00 GMT', 60_000],
    ['Sat, 21 Nov 2026 11:00:00 GMT', 0],
  ])('%s is %s ms', (header, wait) => expect(retryAfterMs(header, now)).toBe(wait));
});

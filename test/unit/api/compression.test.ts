import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import express, { type Request } from 'express';
import { Compression, encodingFor } from '#app/api/jsonAnswer.js';
import { MIN_COMPRESSED_BYTES } from '#app/domain/limits.js';

const asked = (accepted: string | undefined, method = 'GET'): Request =>
  Object.assign(Object.create(express.request), {
    method,
    headers: accepted === undefined ? {} : { 'accept-encoding': accepted },
  });

const LONG = 'é'.repeat(MIN_COMPRESSED_BYTES / 2);

test.each([
  ['br', 'br'],
  ['gzip, deflate, br', 'br'],
  ['gzip, deflate', 'gzip'],
  ['gzip;q=0.5, br;q=0', 'gzip'],
  ['GZIP', 'gzip'],
  ['*', 'br'],
  ['*;q=0.5, br;q=0', 'gzip'],
  [undefined, undefined],
  ['', undefined],
  ['identity', undefined],
  ['identity, gzip;q=0.5', undefined],
  ['deflate, zstd', undefined],
  ['gzip;q=0, br;q=0', undefined],
])('a client that accepts %j is answered in %j', (accepted, encoding) => {
  expect(encodingFor(asked(accepted), LONG)).toBe(encoding);
});

test('what is short, and what answers a change, is sent as it is', () => {
  expect(encodingFor(asked('br'), LONG.slice(1))).toBeUndefined();
  expect(encodingFor(asked('br'), ['{"data":[', new Uint8Array(MIN_COMPRESSED_BYTES), ']}'])).toBe('br');
  for (const method of ['HEAD', 'POST', 'PUT', 'DELETE'])
    expect(encodingFor(asked('br', method), LONG)).toBeUndefined();
});

test('many at once are all whole', async () => {
  const compression = new Compression();
  const bodies = Array.from({ length: 40 }, (_, n) => ['{"data":[', Buffer.from(`"${n}é",`.repeat(20_000)), ']}']);
  const packed = await Promise.all(
    bodies.map((body, n) => compression.compress(body, n % 2 === 0 ? 'br' : 'gzip', `t${n % 3}`)),
  );
  const unpacked = packed.map((bytes, n) => (n % 2 === 0 ? brotliDecompressSync(bytes) : gunzipSync(bytes)).toString());
  expect(unpacked).toEqual(bodies.map((body) => body.join('')));
});

import express, { type Request } from 'express';
import { encodingFor } from '#app/api/compression.js';
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

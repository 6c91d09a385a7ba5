/** Requests as bytes: whole ones, broken ones, and those that mean to cost or to confuse. */
import fc from 'fast-check';
import { almostJson } from './almostJson.js';
import { bytes, encoded, encodings, framings, type Header } from './rawBodies.js';
import type { RawCase } from './rawConnection.js';
import { methods, PLATFORM, READ, strangeHeaders, targets, versions, WRITTEN } from './rawHeads.js';

export type Known = { readonly host: string; readonly clientToken: string; readonly adminToken: string };

const lines = (first: string, headers: readonly Header[]): Buffer =>
  bytes(`${first}\r\n`, ...headers.flatMap((header) => [header, '\r\n']), '\r\n');

/** All kinds of requests for a tenant that has these tokens. */
export function rawCases({ host, clientToken, adminToken }: Known): fc.Arbitrary<RawCase> {
  const tokenFor = (path: string): readonly Header[] =>
    path === '/oauth/token' ? [] : [`Authorization: Bearer ${path.startsWith(PLATFORM) ? adminToken : clientToken}`];
  const usual = (path: string): readonly Header[] => [`Host: ${host}`, ...tokenFor(path)];
  const json = 'Content-Type: application/json';
  const pieces = (name: string, ...parts: readonly Buffer[]): RawCase => ({
    name,
    chunks: parts,
    ending: 'wait',
  });

  const reads = fc.constantFrom(...READ).map((path) => lines(`GET ${path} HTTP/1.1`, usual(path)));
  const writes = fc.tuple(fc.constantFrom(...WRITTEN), almostJson).map(([operation, body]) => {
    const path = operation.slice(operation.indexOf(' ') + 1);
    return bytes(lines(`${operation} HTTP/1.1`, [...usual(path), json, `Content-Length: ${body.length}`]), body);
  });
  const whole = fc.oneof(reads, writes);

  return fc.oneof(
    { weight: 6, arbitrary: writes.map((request) => pieces('almost JSON', request)) },
    { weight: 4, arbitrary: targets.map((target) => pieces('target', lines(`GET ${target} HTTP/1.1`, usual('/')))) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(methods, fc.constantFrom(...READ), versions)
        .map(([method, path, version]) => pieces('request line', lines(`${method} ${path} ${version}`, usual(path)))),
    },
    {
      weight: 4,
      arbitrary: fc
        .tuple(strangeHeaders, fc.constantFrom(...READ))
        .map(([headers, path]) => pieces('headers', lines(`GET ${path} HTTP/1.1`, [...headers, ...usual(path)]))),
    },
    {
      weight: 3,
      arbitrary: fc
        .tuple(fc.constantFrom(...WRITTEN), almostJson)
        .chain(([operation, body]) =>
          framings(body.subarray(0, 3000)).map((framing) =>
            pieces(
              'framing',
              lines(`${operation} HTTP/1.1`, [...usual(operation.split(' ')[1] ?? ''), json, ...framing.headers]),
              framing.body,
            ),
          ),
        ),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.constantFrom(...WRITTEN), encodings, almostJson)
        .map(([operation, [encoding, how], plain]) => {
          const body = encoded(encoding, how, plain);
          const headers = [
            ...usual(operation.split(' ')[1] ?? ''),
            json,
            `Content-Encoding: ${encoding}`,
            `Content-Length: ${body.length}`,
          ];
          return pieces(`${how} ${encoding}`, lines(`${operation} HTTP/1.1`, headers), body);
        }),
    },
    {
      weight: 3,
      arbitrary: fc
        .tuple(whole, fc.nat(), fc.constantFrom('end' as const, 'reset' as const))
        .map(([request, cut, ending]) => ({
          ...pieces('truncated', request.subarray(0, cut % request.length)),
          ending,
        })),
    },
    {
      weight: 2,
      arbitrary: fc
        .array(whole, { minLength: 2, maxLength: 30 })
        .map((requests) => pieces('pipelined', Buffer.concat(requests))),
    },
    {
      weight: 1,
      arbitrary: fc.uint8Array({ minLength: 1, maxLength: 3000 }).map((noise) => pieces('noise', Buffer.from(noise))),
    },
  );
}

/** Bodies that are JSON, nearly JSON, or cost a careless parser much. */
import fc from 'fast-check';

const lengths = fc.constantFrom(1, 20, 1000, 20_000, 300_000);
const repeated = (text: string): fc.Arbitrary<string> => lengths.map((length) => text.repeat(length));

/** Fields that requests have, so that a value gets as far as it can. */
const fields = fc.constantFrom('external_id', 'items', 'roles', 'grant_type', 'custom_data', 'lines', 'email');

const values: fc.Arbitrary<string> = fc.oneof(
  fc.json({ maxDepth: 3 }),
  fc.constantFrom('1e1000000', '0.1e-5000', '9'.repeat(400), 'NaN', '"\\ud800"', '"\u0000"'),
  repeated('1'),
  repeated('9').map((digits) => `0.${digits}e${digits.slice(0, 9)}`),
  repeated('"'),
  repeated('\\"').map((text) => `"${text}`),
  repeated('a').map((text) => `"${text}`),
  repeated('['),
  repeated('{"a":'),
  repeated('[').chain((open) =>
    fc.constantFrom(`${open}${']'.repeat(open.length)}`, `${open}0${']'.repeat(open.length - 1)}`),
  ),
  repeated('0,').map((zeros) => `[${zeros}0]`),
  lengths.map(
    (length) => `{${Array.from({ length: Math.min(length, 60_000) }, (_, nth) => `"k${nth}":${nth}`).join()}}`,
  ),
  lengths.map(
    (length) =>
      `[${Array.from({ length: Math.min(length, 2000) }, (_, nth) => `{"external_id":"F${nth}","name":"n","k${nth}":1}`).join()}]`,
  ),
  fc.constantFrom('{"__proto__":{"polluted":1}}', '{"constructor":{"prototype":{"polluted":1}}}', '{"a":1,"a":2}'),
);

const inAField: fc.Arbitrary<string> = fc.tuple(fields, values).map(([field, value]) => `{"${field}":${value}}`);

export const almostJson: fc.Arbitrary<Buffer> = fc.oneof(
  inAField.map((text) => Buffer.from(text)),
  values.map((text) => Buffer.from(text)),
  fc.tuple(inAField, fc.nat(400)).map(([text, end]) => Buffer.from(text.slice(0, end))),
  inAField.map((text) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(text)])),
  inAField.map((text) => Buffer.from(text, 'utf16le')),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
);

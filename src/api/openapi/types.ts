/** The parts of an OpenAPI 3.1 document as far as they are used here (spec.openapis.org/oas/v3.1.1). */

import { closedObject, type JsonSchema } from '../../domain/assetTypes/outputSchema.js';

export { closedObject, type JsonSchema };

export type Parameter = {
  readonly name: string;
  readonly in: 'query' | 'path' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
  readonly example?: unknown;
};

export type Ref = { readonly $ref: string };

export type MediaTypes = {
  readonly [mediaType: string]: { readonly schema: JsonSchema; readonly example?: unknown };
};

export type ResponseObject = {
  readonly description: string;
  readonly headers?: { readonly [name: string]: { readonly description: string; readonly schema: JsonSchema } };
  readonly content?: MediaTypes;
};

export type Responses = { readonly [status: string]: ResponseObject | Ref };

export type SecurityRequirement = { readonly [scheme: string]: readonly string[] };

export type Operation = {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security: readonly SecurityRequirement[];
  readonly parameters?: readonly (Parameter | Ref)[];
  readonly requestBody?: { readonly required: boolean; readonly content: MediaTypes };
  readonly responses: Responses;
};

export type Method = 'get' | 'put' | 'post' | 'delete';

export type PathItem = {
  readonly [method in Method]?: Operation;
} & { readonly parameters?: readonly (Parameter | Ref)[] };

export type Paths = { readonly [path: string]: PathItem };

export type Schemas = { readonly [name: string]: JsonSchema };

export const schemaRef = (name: string): Ref => ({ $ref: `#/components/schemas/${name}` });

export const jsonContent = (schema: JsonSchema, example?: unknown): MediaTypes => ({
  'application/json': { schema, ...(example === undefined ? {} : { example }) },
});

export const jsonResponse = (description: string, schema: JsonSchema, example?: unknown): ResponseObject => ({
  description,
  content: jsonContent(schema, example),
});

/** `{ data: … }` (spec §2.2). */
export const dataOf = (schema: JsonSchema): JsonSchema => closedObject({ data: schema });

/** A page of a collection (spec §2.2). */
export const pageOf = (record: JsonSchema): JsonSchema =>
  closedObject({
    data: { type: 'array', items: record },
    links: schemaRef('PageLinks'),
    meta: schemaRef('PageMeta'),
  });

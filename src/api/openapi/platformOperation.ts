import { BODY_ERRORS, type ErrorStatus, errorsOf } from './errorResponses.js';
import {
  dataOf,
  type JsonSchema,
  jsonContent,
  jsonResponse,
  type Operation,
  type Parameter,
  type ResponseObject,
  type SecurityRequirement,
  schemaRef,
} from './types.js';

export const PLATFORM = '/api/v1/platform';

const SIGNED_IN: readonly SecurityRequirement[] = [{ platform: [] }, { session: [] }];

export type Description = {
  readonly id: string;
  readonly summary: string;
  readonly tag: string;
  /** Needs nobody to be signed in. */
  readonly open?: true;
  readonly parameters?: Operation['parameters'];
  readonly body?: { readonly schema: JsonSchema; readonly example: unknown; readonly optional?: true };
  readonly status?: 200 | 201 | 202 | 204;
  readonly answer: ResponseObject;
  /** Besides those of every operation that needs someone signed in, and of every body. */
  readonly errors?: readonly ErrorStatus[];
};

/** An operation of the platform API. */
export function platformOperation(given: Description): Operation {
  const { body, parameters } = given;
  return {
    operationId: `platform_${given.id}`,
    summary: given.summary,
    tags: [`platform: ${given.tag}`],
    security: given.open === true ? [] : SIGNED_IN,
    ...(parameters === undefined ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: body.optional !== true, content: jsonContent(body.schema, body.example) } }),
    responses: {
      [given.status ?? 200]: given.answer,
      ...errorsOf(
        404,
        ...(given.open === true ? [] : ([401, 403] as const)),
        ...(body === undefined ? [] : BODY_ERRORS),
        ...(given.errors ?? []),
      ),
    },
  };
}

export const NO_CONTENT: ResponseObject = { description: 'Done.' };

export const one = (schema: string): ResponseObject => jsonResponse('Done.', dataOf(schemaRef(schema)));

/** A short collection, which is not paged. */
export const all = (schema: string): ResponseObject =>
  jsonResponse('All there are.', dataOf({ type: 'array', items: schemaRef(schema) }));

export const pathText = (name: string): Parameter => ({ name, in: 'path', required: true, schema: { type: 'string' } });

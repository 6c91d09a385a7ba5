/** Error answers of every operation (spec §7), as named responses. */
import {
  closedObject,
  type JsonSchema,
  jsonResponse,
  type ResponseObject,
  type Responses,
  schemaRef,
} from './schema.js';

const text: JsonSchema = { type: 'string' };

export const errorSchemas: { readonly [name: string]: JsonSchema } = {
  Error: closedObject({
    message: { type: 'string', description: 'What is wrong.' },
    error: { type: 'string', description: 'Why, or what to do about it.' },
  }),
  ValidationError: closedObject({
    message: { type: 'string', description: 'The first of the messages.' },
    errors: {
      type: 'object',
      description: 'Messages by field; of a batch by `items` or `items.<index>.<field>`.',
      additionalProperties: { type: 'array', items: text, minItems: 1 },
    },
  }),
};

const error = (description: string, message: string, reason: string): ResponseObject =>
  jsonResponse(description, schemaRef('Error'), { message, error: reason });

const withHeader = (response: ResponseObject, name: string, description: string, type: string): ResponseObject => ({
  ...response,
  headers: { [name]: { description, schema: { type } } },
});

const responses = {
  400: [
    'BadRequest',
    error(
      'Bad request: no JSON, or a filter or sort on a disallowed field.',
      'Bad request.',
      'notes cannot be sorted.',
    ),
  ],
  401: [
    'Unauthenticated',
    withHeader(
      error('The token is missing or not valid.', 'Unauthenticated.', 'The token has expired.'),
      'WWW-Authenticate',
      'RFC 6750 §3.',
      'string',
    ),
  ],
  403: ['Forbidden', error('A scope or role is missing.', 'Forbidden.', 'The token lacks the scope write:order_data.')],
  404: ['NotFound', error('There is no such table or record.', 'Not found.', 'There is no asset dyn_thing.')],
  409: [
    'Conflict',
    error(
      'It is not in a state for this.',
      'Conflict.',
      'An order can be approved when it is validated or failed; this one is completed.',
    ),
  ],
  413: [
    'BodyTooLarge',
    error('The body is over the limit.', 'The body is too large.', 'The body is over the limit of 8388608 bytes.'),
  ],
  415: [
    'UnsupportedMediaType',
    error(
      'The body is not sent as JSON.',
      'Unsupported media type.',
      'Send the body as Content-Type: application/json, in UTF-8.',
    ),
  ],
  422: [
    'ValidationFailed',
    jsonResponse('The body breaks rules; nothing was stored.', schemaRef('ValidationError'), {
      message: 'The name field is required.',
      errors: { name: ['The name field is required.'] },
    }),
  ],
  429: [
    'TooManyRequests',
    withHeader(
      error('Over the rate limit.', 'Too many requests.', 'At most 50 requests a second, 100 at once.'),
      'Retry-After',
      'Seconds to wait.',
      'integer',
    ),
  ],
  500: [
    'ServerError',
    error(
      'Something failed here; the error is the id of the request.',
      'Server error',
      '0b6c2d0e-3f1a-4a57-9d0c-5a3e1f0a7c11',
    ),
  ],
  503: [
    'Unavailable',
    withHeader(
      error(
        'Cannot be answered now; trying again is safe.',
        'Temporarily unavailable; try again.',
        'The event log cannot be reached.',
      ),
      'Retry-After',
      'Seconds to wait.',
      'integer',
    ),
  ],
} as const satisfies { readonly [status: number]: readonly [name: string, response: ResponseObject] };

export type ErrorStatus = keyof typeof responses;

/** For `components.responses`. */
export const errorResponses: { readonly [name: string]: ResponseObject } = Object.fromEntries(Object.values(responses));

/** References to the error answers that an operation can give; 429, 500 and 503 are added to each. */
export function errorsOf(...statuses: readonly ErrorStatus[]): Responses {
  const all: readonly ErrorStatus[] = [...statuses, 429, 500, 503];
  return Object.fromEntries(all.map((status) => [status, { $ref: `#/components/responses/${responses[status][0]}` }]));
}

/** Those of an operation that reads a JSON body. */
export const BODY_ERRORS: readonly ErrorStatus[] = [400, 413, 415, 422];

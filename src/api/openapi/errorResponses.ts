/** Error answers of all operations (spec §7), as named responses. */
import {
  answer,
  closedObject,
  listOf,
  type ResponseObject,
  type Responses,
  ref,
  type Schemas,
  text,
} from './schema.js';

export const errorSchemas: Schemas = {
  Error: closedObject({
    message: { ...text, description: 'What is wrong.' },
    error: { ...text, description: 'Why, or what to do about it.' },
  }),
  ValidationError: closedObject({
    message: { ...text, description: 'The first of the messages.' },
    errors: {
      type: 'object',
      description: 'Messages by field; of a batch by `items` or `items.<index>.<field>`.',
      additionalProperties: { ...listOf(text), minItems: 1 },
    },
  }),
};

const RETRY_AFTER = { 'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } } };

type ErrorExample = { readonly message: string; readonly error: string; readonly headers?: ResponseObject['headers'] };
type NamedResponse = readonly [name: string, response: ResponseObject];

const error = (name: string, description: string, { headers, ...example }: ErrorExample): NamedResponse => [
  name,
  { ...answer(description, ref('Error'), example), ...(headers === undefined ? {} : { headers }) },
];

const ERRORS = {
  400: error(
    'BadRequest',
    'Bad request: invalid JSON, an unknown parameter, a header field that has no effect here, or a filter or sort on a disallowed field.',
    {
      message: 'Bad request.',
      error: 'Unknown parameter dryRun; did you mean dry_run?',
    },
  ),
  401: error('Unauthenticated', 'The token is missing or not valid.', {
    message: 'Unauthenticated.',
    error: 'The token has expired.',
    headers: { 'WWW-Authenticate': { description: 'RFC 6750 §3.', schema: text } },
  }),
  403: error('Forbidden', 'A scope or role is missing.', {
    message: 'Forbidden.',
    error: 'The token lacks the scope write:order_data.',
  }),
  404: error('NotFound', 'There is no such table or record.', {
    message: 'Not found.',
    error: 'There is no table dyn_itm; did you mean dyn_item?',
  }),
  405: error('MethodNotAllowed', 'This table has no such operation.', {
    message: 'Method not allowed.',
    error: 'DELETE is not allowed here, which takes GET, HEAD, PUT.',
    headers: { Allow: { description: 'The methods that there are.', schema: text } },
  }),
  409: error('Conflict', 'Its state does not allow this.', {
    message: 'Conflict.',
    error: 'An order can be approved when it is validated or failed; this one is completed.',
  }),
  412: error('PreconditionFailed', 'The record has changed since it had the ETag of If-Match; nothing was written.', {
    message: 'Precondition failed.',
    error: 'The record is not as it was when it had the given ETag. Read it, and send the ETag that it has.',
    headers: { ETag: { description: 'Of the current record.', schema: text } },
  }),
  413: error('BodyTooLarge', 'The body is over the limit.', {
    message: 'The body is too large.',
    error: 'The body is over the limit of 4194304 bytes.',
  }),
  415: error('UnsupportedMediaType', 'The body is not sent as JSON.', {
    message: 'Unsupported media type.',
    error: 'Send the body as Content-Type: application/json, in UTF-8.',
  }),
  422: [
    'ValidationFailed',
    answer('The body breaks rules; nothing was stored.', ref('ValidationError'), {
      message: 'The name field is required.',
      errors: { name: ['The name field is required.'] },
    }),
  ],
  429: error(
    'TooManyRequests',
    'Over the rate limit, or too many lists, costly requests, unreceived answers or writes that are not shown yet of this tenant wait.',
    {
      message: 'Too many requests.',
      error: 'At most 50 requests a second, 100 at once.',
      headers: RETRY_AFTER,
    },
  ),
  431: error('HeadersTooLarge', 'The header fields, the URL among them, are too large.', {
    message: 'Request Header Fields Too Large',
    error: 'The header fields are too large.',
  }),
  500: error('ServerError', 'The service failed; the error is the id of the request.', {
    message: 'Server error',
    error: '0b6c2d0e-3f1a-4a57-9d0c-5a3e1f0a7c11',
  }),
  503: error(
    'Unavailable',
    'No answer is possible now. The error of a change says whether it may have been written; with a Retry-After, trying again is safe.',
    {
      message: 'Temporarily unavailable; try again.',
      error: 'The event log cannot be reached.',
      headers: RETRY_AFTER,
    },
  ),
  507: error('QuotaUsedUp', 'A quota of the tenant is used up, or the disk of the service is nearly full.', {
    message: 'A quota of this tenant is used up; nothing was written.',
    error:
      'records: at most 10000000 records, and there are 10000312. Delete records with a clean-up, or ask the operator to raise the quota.',
  }),
} as const satisfies { readonly [status: number]: NamedResponse };

export type ErrorStatus = keyof typeof ERRORS;

/** For `components.responses`. */
export const errorResponses: { readonly [name: string]: ResponseObject } = Object.fromEntries(Object.values(ERRORS));

/** References to these error answers. */
export const errorsOf = (statuses: readonly ErrorStatus[]): Responses =>
  Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/${ERRORS[status][0]}` }]));

/** Error answers of an operation with a JSON body. */
export const BODY_ERRORS: readonly ErrorStatus[] = [400, 413, 415, 422];

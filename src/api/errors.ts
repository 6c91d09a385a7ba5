/** Makes every error answer of the API (spec §7). */
import type { ErrorRequestHandler, Request, Response } from 'express';
import type { Logger } from 'pino';
import {
  ConflictError,
  NotFoundError,
  NotSupportedError,
  TryLaterError,
  ValidationError,
} from '../commands/context.js';
import { PreconditionFailedError } from '../commands/preconditions.js';
import { AnswerTooLargeError } from '../domain/jsonSize.js';
import { AppendTooLargeError, EventStoreUnavailableError } from '../ports/eventStore.js';
import { RowsUnavailableError } from '../ports/rowStore.js';
import { DeadlineError } from '../supervision/deadline.js';
import { TooManyWaitingError } from '../supervision/fairQueue.js';
import { sendBody } from './jsonAnswer.js';
import { loggedPath } from './requestContext.js';

/** An error answer that the API itself decides on. `message` says what is wrong, `reason` why or what to do. */
export class HttpError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly reason: string,
    readonly headers?: { readonly [name: string]: string },
  ) {
    super(message);
  }
}

export const badRequest = (reason: string): HttpError => new HttpError(400, 'Bad request.', reason);
/** @param headers what is accepted, as Accept or Accept-Encoding (RFC 9110 §15.5.16) */
export const unsupportedMediaType = (reason: string, headers?: HttpError['headers']): HttpError =>
  new HttpError(415, 'Unsupported media type.', reason, headers);
export const REALM = 'Bearer realm="dynamic-assets"';
/** Without a token, the challenge has no error code (RFC 6750 §3.1). */
export const unauthenticated = (reason: string, challenge = REALM): HttpError =>
  new HttpError(401, 'Unauthenticated.', reason, { 'WWW-Authenticate': challenge });
/** @param reason printable ASCII without quotes */
export const invalidToken = (reason: string): HttpError =>
  unauthenticated(reason, `${REALM}, error="invalid_token", error_description="${reason}"`);
export const forbidden = (reason: string, headers?: HttpError['headers']): HttpError =>
  new HttpError(403, 'Forbidden.', reason, headers);
export const notFound = (reason: string): HttpError => new HttpError(404, 'Not found.', reason);
/** A 503 after which a retry is safe. */
export const tryLater = (message: string, reason: string): HttpError =>
  new HttpError(503, message, reason, { 'Retry-After': '1' });
export const unavailable = (reason: string): HttpError => tryLater('Temporarily unavailable; try again.', reason);
export const tooManyRequests = (reason: string, retryAfterSeconds: number): HttpError =>
  new HttpError(429, 'Too many requests.', reason, { 'Retry-After': String(Math.max(1, retryAfterSeconds)) });

/** @param allow the methods that there are */
export const methodNotAllowed = ({ method }: Request, allow: string): HttpError =>
  new HttpError(405, 'Method not allowed.', `${method} is not allowed here, which takes ${allow}.`, { Allow: allow });

/** No route has this path. */
export const nothingAt = ({ baseUrl, path }: Request): HttpError => notFound(`There is nothing at ${baseUrl}${path}.`);

type Answer = {
  readonly status: number;
  readonly body: { readonly message: string } & ({ readonly error: string } | Pick<ValidationError, 'errors'>);
  readonly headers?: HttpError['headers'] | undefined;
};

const answer = (status: number, message: string, error: string, headers?: Answer['headers']): Answer => ({
  status,
  body: { message, error },
  headers,
});

const answerOf = ({ status, message, reason, headers }: HttpError): Answer => answer(status, message, reason, headers);

/** Adds to a 503 whether the write may have happened, which the client must know before it retries. */
function withOutcome(given: Answer, { method, headers, context }: Request): Answer {
  const { status, body } = given;
  if (status !== 503 || !('error' in body) || isSafe(method)) return given;
  if (!context.deadline.mayHaveWritten)
    return { ...given, body: { ...body, error: `${body.error} Nothing was written.` } };
  const message = 'Temporarily unavailable; the outcome is not known.';
  const isKeyed = headers['idempotency-key'] !== undefined;
  const advice = isKeyed
    ? 'send this again with the same Idempotency-Key; it is done once.'
    : 'read the record or the order, or look for it in its list (sort=-created_at), before you send this again.';
  // Without a key no Retry-After: an immediate retry could write twice.
  return answer(
    503,
    message,
    `${body.error} It may have been written, or may be yet: ${advice}`,
    isKeyed ? given.headers : undefined,
  );
}

export const isSafe = (method: string): boolean => ['GET', 'HEAD', 'OPTIONS'].includes(method);

/** The answer to an expected error; undefined for all others. */
export function answerTo(error: unknown): Answer | undefined {
  if (error instanceof HttpError) return answerOf(error);
  if (error instanceof ValidationError) return { status: 422, body: { message: error.message, errors: error.errors } };
  if (error instanceof NotFoundError) return answer(404, 'Not found.', error.message);
  if (error instanceof ConflictError) return answer(409, 'Conflict.', error.message);
  if (error instanceof PreconditionFailedError) {
    const advice = `${error.message} Read it, and send the ETag that it has.`;
    return answer(412, 'Precondition failed.', advice, { ETag: `"${error.tag}"` });
  }
  if (error instanceof NotSupportedError) return answer(400, error.message, error.advice);
  if (error instanceof AppendTooLargeError) return answer(413, 'The change is too large.', error.message);
  if (error instanceof AnswerTooLargeError) return answer(413, 'The answer would be too large.', error.message);
  if (error instanceof DeadlineError) return answerOf(tryLater('The request took too long.', error.message));
  if (error instanceof TooManyWaitingError) return answerOf(tooManyRequests(error.message, 1));
  if (error instanceof TryLaterError || error instanceof RowsUnavailableError)
    return answerOf(unavailable(error.message));
  if (error instanceof EventStoreUnavailableError) return answerOf(unavailable('The event log cannot be reached.'));
  return requestError(error);
}

/** Errors of express and its body parser carry a client status. */
function requestError(error: unknown): Answer | undefined {
  if (!(error instanceof Error) || !('status' in error)) return undefined;
  const { status } = error;
  if (typeof status !== 'number' || status < 400 || status > 499) return undefined;
  const message =
    status === 413 ? 'The body is too large.' : status === 415 ? 'Unsupported media type.' : 'Bad request.';
  return answer(status, message, error.message);
}

const EXPECTED_FAILURES = [HttpError, TryLaterError, DeadlineError, RowsUnavailableError];

/** Express's error handler. An unexpected error is logged; its answer shows only the request id. */
export function errorHandler(log: Logger): ErrorRequestHandler {
  return (error: unknown, req: Request, res: Response, _next) => {
    const { requestId } = req.context;
    const known = answerTo(error);
    const expected = known && withOutcome(known, req);
    // 507 has a line in the access log: a client that goes on beyond its quota must not fill the log.
    if (expected === undefined || (expected.status >= 500 && expected.status !== 507)) {
      // Refusals and timeouts are logged as warnings, without a stack: any client can cause them.
      const isExpected = EXPECTED_FAILURES.some((kind) => error instanceof kind);
      const about = { requestId, method: req.method, path: loggedPath(req) };
      if (isExpected) log.warn({ reason: expected?.body.message, ...about }, 'request failed');
      else log.error({ err: error, ...about }, 'request failed');
    }
    if (res.headersSent) {
      res.destroy();
      return;
    }
    const { status, body, headers } = expected ?? answer(500, 'Server error', requestId);
    sendBody(res, status, JSON.stringify(body), headers);
  };
}

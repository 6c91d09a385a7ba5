/**
 * Classes for requests and responses that have express's prototypes from the start. express changes the prototype of
 * each object it is handed, and V8 handles an object with a changed prototype slowly: a small answer took twice as
 * long, and its objects survived more garbage collections.
 */
import { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Express } from 'express';

export class ApiRequest extends IncomingMessage {}
export class ApiResponse extends ServerResponse<ApiRequest> {}

Object.setPrototypeOf(ApiRequest.prototype, express.request);
Object.setPrototypeOf(ApiResponse.prototype, express.response);

/** Sets the application of all requests and responses from now on. A process has one application at a time. */
export function useExpressPrototypes(app: Express): void {
  Object.assign(app, {
    request: Object.assign(ApiRequest.prototype, { app }),
    response: Object.assign(ApiResponse.prototype, { app }),
  });
}

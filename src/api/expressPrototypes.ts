/**
 * The classes of the requests and responses that the HTTP server makes. express gives each one that it is handed the
 * prototype of its application, and an object whose prototype was changed is slow from then on: a small answer took twice
 * as long, and what belonged to it outlived the next collections. Made with that prototype, they are left as they are.
 */
import { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Express } from 'express';

export class ApiRequest extends IncomingMessage {}
export class ApiResponse extends ServerResponse<ApiRequest> {}

Object.setPrototypeOf(ApiRequest.prototype, express.request);
Object.setPrototypeOf(ApiResponse.prototype, express.response);

/** Of what the application is handed from now on. A process has one application at a time: theirs is the one given last. */
export function useExpressPrototypes(app: Express): void {
  Object.assign(app, {
    request: Object.assign(ApiRequest.prototype, { app }),
    response: Object.assign(ApiResponse.prototype, { app }),
  });
}

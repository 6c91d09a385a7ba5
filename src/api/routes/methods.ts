/** The methods of a path: which there are, and what to do in place of one that it lacks. */
import type { Request, RequestHandler, Response } from 'express';
import { assetTypeOf } from '../../commands/tables.js';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { HttpError } from '../errors.js';
import { hasMethodAt, METHODS, type Method, type Operation, type Route } from './operation.js';

/** The asset type of `:table`. @throws NotFoundError if the tenant has none of this name */
export const knownAsset = ({ params, context }: Request): AssetType =>
  assetTypeOf(context.tenant, String(params.table));

export const isHere = (req: Request, operation: Operation): boolean => hasMethodAt(operation, () => knownAsset(req));

/** For methods without an operation. OPTIONS lists the methods (RFC 9110 §9.3.7, §10.2.1). */
export function methodNotAllowed(here: readonly Route[], all: readonly Route[]): RequestHandler {
  return (req, res) => {
    const offered = here.filter(({ operation }) => isHere(req, operation)).map(({ method }) => method);
    const allow = allowOf(METHODS.filter((method) => offered.includes(method)));
    if (req.method === 'OPTIONS') return tellMethods(res, allow);
    const texts = [`${req.method} is not allowed here, which takes ${allow}.`, ...insteadOf(req, here, all)];
    throw new HttpError(405, 'Method not allowed.', texts.join(' '), { Allow: allow });
  };
}

/** The path of the list that a path is an entry of. */
const listOf = (path: string): string | undefined => /^(.*)\/:\w+$/.exec(path)?.[1];

/** What the resource says, or where the path below or above it takes the method. */
function insteadOf(req: Request, here: readonly Route[], all: readonly Route[]): readonly string[] {
  const { method, params, context } = req;
  for (const { resource } of here) {
    const own = resource.instead?.[method];
    const text = typeof own === 'function' ? own(knownAsset(req)) : own;
    if (text !== undefined) return [text];
  }
  const [path = ''] = here.map((route) => route.path);
  const isNear = (other: string): boolean => listOf(other) === path || listOf(path) === other;
  const near = all.find((route) => route.method === method && isNear(route.path) && isHere(req, route.operation));
  if (near === undefined) return [];
  const shown = near.path.replace(/:(\w+)/g, (_, name: string) =>
    name === 'table' ? String(params[name]) : `{${name}}`,
  );
  return [`${method} goes to ${context.mount}${shown}.`];
}

const allowOf = (methods: readonly Method[]): string =>
  methods.map((method) => (method === 'GET' ? 'GET, HEAD' : method)).join(', ');

const tellMethods = (res: Response, allow: string): void => void res.setHeader('Allow', allow).status(204).end();

/** `OPTIONS *` asks about the service as a whole (RFC 9110 §9.3.7). */
export const optionsOfService: RequestHandler = (req, res, next) =>
  req.url === '*' ? tellMethods(res, allowOf(METHODS)) : next();

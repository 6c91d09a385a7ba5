/**
 * The console at /console: at a tenant's host for its users, at the operator's for the operator. The build makes its files
 * (console/), the same for both; its data is the API of the host.
 */
import type { Request } from 'express';
import type { Api } from './deps.js';
import { notFound, nothingAt } from './errors.js';
import { contentSecurityPolicy, htmlAnswer, PageFiles } from './pageFiles.js';
import { pathText, type Reply, type Resource } from './routes/operation.js';
import { isOperatorHost, requestHost } from './tenantHost.js';

/** Its components have styles of their own; it has no inline scripts. */
const POLICY = contentSecurityPolicy({ 'style-src': "'self' 'unsafe-inline'", 'img-src': "'self' data:" });

const files = new PageFiles('console');

/** Addresses of the operator's pages. */
const OPERATOR_PAGE = /^(?:enter|operator)(?:\/|$)/;

/** A file by its name; one page for all other addresses, which its script reads. */
async function send({ log, config }: Api, req: Request, name: string): Promise<Reply> {
  const isOperators = isOperatorHost(requestHost(req, config), config);
  if (name === '' && isOperators) return { status: 302, headers: { Location: '/console/operator' } };
  if (OPERATOR_PAGE.test(name) && !isOperators) throw nothingAt(req);
  // They lie in one folder; an id in an address may have dots as well.
  const isFile = name.includes('.') && !name.includes('/');
  if (name.includes('\0')) throw notFound('This is no page of the console.');
  const reply = await files.reply(log, isFile ? name : 'index.html', POLICY);
  if (reply === undefined) throw notFound(isFile ? `There is no file ${name}.` : 'This build has no console.');
  return reply;
}

export const consolePages: Resource = {
  tag: 'service',
  pathParameters: { page: pathText('page') },
  operations: {
    'GET /': {
      id: 'getConsole',
      summary: 'The console for the users of a tenant',
      description: 'A page for browsers.',
      allow: 'anyone',
      // The page's script reads them.
      query: 'any',
      answer: htmlAnswer('The page.'),
      errors: [404],
      handle: (api, { req }) => send(api, req, ''),
    },
    'GET /*page': {
      id: 'getConsolePage',
      summary: 'A page of the console',
      description: 'Such as orders.',
      allow: 'anyone',
      query: 'any',
      answer: htmlAnswer('The page, or a file that it names.'),
      errors: [404],
      handle: (api, { req }) => send(api, req, [req.params.page].flat().join('/')),
    },
  },
};

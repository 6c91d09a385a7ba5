/** Pages for people at /docs, which need no token; `/` redirects there. The build makes them (docs/site). */
import type { Request, Response } from 'express';
import type { Api } from './deps.js';
import { notFound } from './errors.js';
import * as json from './openapi/schema.js';
import { contentSecurityPolicy, htmlAnswer, PageFiles } from './pageFiles.js';
import { pathText, type Reply, type Resource } from './routes/operation.js';

const GUIDES = contentSecurityPolicy({ 'img-src': "'self' data:" });
/** The reference component writes styles into the page. */
const REFERENCE = contentSecurityPolicy({ 'style-src': "'self' 'unsafe-inline'", 'img-src': "'self' data:" });

const files = new PageFiles('site');

/** A file by its name, or a page by its name without ending. */
async function send({ log }: Api, req: Request, res: Response, path: string): Promise<Reply> {
  const policy = path === 'reference' ? REFERENCE : GUIDES;
  const reply = (await files.reply(log, `${path}.html`, policy)) ?? (await files.reply(log, path, policy));
  if (reply !== undefined) return reply;
  // A person gets a page with a search and the way back, a program what it gets elsewhere.
  res.vary('Accept');
  const page = req.accepts('json', 'html') === 'html' ? await files.reply(log, '404.html', GUIDES) : undefined;
  if (page === undefined) throw notFound(`There is no page ${path}; /docs leads to all pages.`);
  const { tag: _, ...untagged } = page;
  return { ...untagged, status: 404 };
}

const NO_PAGE: json.ResponseObject = {
  description: 'There is no such page. A browser gets one that leads on.',
  content: { ...json.answer('', json.ref('Error')).content, ...htmlAnswer('').content },
};

export const docs: Resource = {
  tag: 'service',
  pathParameters: { page: pathText('page') },
  operations: {
    'GET /': {
      id: 'getDocs',
      summary: 'The first page of the documentation',
      description: 'A page for browsers, which leads to the guides and to the reference.',
      allow: 'anyone',
      answer: htmlAnswer('The page.'),
      answers: { 404: NO_PAGE },
      handle: (api, { req, res }) => send(api, req, res, 'index'),
    },
    'GET /*page': {
      id: 'getDocsPage',
      summary: 'A guide, or the API reference',
      description: 'Such as getting-started, or reference, where each operation can be tried.',
      allow: 'anyone',
      answer: htmlAnswer('The page, or a file that a page names.'),
      answers: { 404: NO_PAGE },
      handle: (api, { req, res }) => send(api, req, res, [req.params.page].flat().join('/')),
    },
  },
};

/** Redirects the service's root to the pages. */
export const home: Resource = {
  tag: 'service',
  operations: {
    'GET /': {
      id: 'getHome',
      summary: 'Leads to /docs',
      allow: 'anyone',
      status: 302,
      errors: [404],
      answer: { description: 'It does.', headers: { Location: { description: '/docs', schema: { type: 'string' } } } },
      handle(_api, { req }) {
        // Express matches // as well.
        if (!/^\/(?:\?|$)/.test(req.originalUrl)) throw notFound(`There is nothing at ${req.path}.`);
        return { headers: { Location: '/docs', 'Cache-Control': 'no-cache' } };
      },
    },
  },
};

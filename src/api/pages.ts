/**
 * Pages for browsers, which the build makes: the guides and the reference at /docs, and the console at /console, at a tenant's
 * host for its users, at the operator's for the operator. Files are read once, and cached by their names.
 */
import { readdir, readFile } from 'node:fs/promises';
import { sep } from 'node:path';
import type { Request } from 'express';
import type { Logger } from 'pino';
import type { Api } from './deps.js';
import { notFound, nothingAt } from './errors.js';
import { NO_CONTENT, type ResponseObject } from './openapi/schema.js';
import { type Call, pathText, type Reply, type Resource } from './routes/operation.js';
import { isOperatorHost, requestHost } from './tenantHost.js';

/** A content security policy: pages may use only what this server has. */
const GUIDES =
  "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; connect-src 'self'; img-src 'self' data:; font-src 'self'; script-src 'self'; style-src 'self'";
/** The reference component and those of the console write styles into the page; there are no inline scripts. */
const COMPONENTS = `${GUIDES} 'unsafe-inline'`;

const TYPES: { readonly [ending: string]: string } = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json',
  svg: 'image/svg+xml',
  png: 'image/png',
  woff2: 'font/woff2',
  txt: 'text/plain; charset=utf-8',
  br: 'application/octet-stream',
};

/** All other files have a hash of their contents in their names. */
const REVALIDATED = ['html', 'json'];

class PageFiles {
  readonly #folder: URL;
  #names: Promise<ReadonlySet<string>> | undefined;
  /** Those that were asked for; all of a folder are some megabytes. */
  readonly #read = new Map<string, Buffer>();

  /** @param folder name of a folder of dist/ */
  constructor(folder: 'site' | 'console') {
    this.#folder = new URL(`../${folder}/`, import.meta.url);
  }

  /** The answer with the file of this name below the folder, as the build has packed it if it has; undefined if there is none. */
  async reply(log: Logger, req: Request, name: string, policy: string): Promise<Reply | undefined> {
    const names = await this.#all(log);
    if (!names.has(name)) return undefined;
    const isPacked = names.has(`${name}.br`) && req.acceptsEncodings('br') === 'br';
    const file = isPacked ? `${name}.br` : name;
    const body = this.#read.get(file) ?? (await readFile(new URL(file, this.#folder)));
    this.#read.set(file, body);
    const ending = endingOf(name);
    return {
      body,
      headers: {
        ...(isPacked && { 'Content-Encoding': 'br' }),
        'Content-Type': TYPES[ending] ?? '',
        'Cache-Control': REVALIDATED.includes(ending) ? 'no-cache' : 'public, max-age=31536000, immutable',
        'Content-Security-Policy': policy,
        'Referrer-Policy': 'no-referrer',
        'Cross-Origin-Opener-Policy': 'same-origin',
      },
    };
  }

  /** All names. None if the folder cannot be read, which is logged once. */
  #all(log: Logger): Promise<ReadonlySet<string>> {
    this.#names ??= readdir(this.#folder, { recursive: true }).then(
      (names) => new Set(names.map((name) => name.replaceAll(sep, '/')).filter((name) => endingOf(name) in TYPES)),
      (error: unknown) => {
        log.error({ err: error }, `${this.#folder.pathname} cannot be read; build it with "npm run build"`);
        return new Set();
      },
    );
    return this.#names;
  }
}

const endingOf = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

const site = new PageFiles('site');

/** A file of the guides by its name, or a page by its name without ending. */
async function sendDocs({ log }: Api, { req, res }: Call, path: string): Promise<Reply> {
  const policy = path === 'reference' ? COMPONENTS : GUIDES;
  const reply =
    (await site.reply(log, req, `${path || 'index'}.html`, policy)) ?? (await site.reply(log, req, path, policy));
  if (reply !== undefined) return reply;
  // A person gets a page with a search and the way back, a program what it gets elsewhere.
  res.vary('Accept');
  const page = req.accepts('json', 'html') === 'html' ? await site.reply(log, req, '404.html', GUIDES) : undefined;
  if (page === undefined) throw notFound(`There is no page ${path}; /docs leads to all pages.`);
  const { tag: _, ...untagged } = page;
  return { ...untagged, status: 404 };
}

const consoleFiles = new PageFiles('console');

/** Addresses of the operator's pages. */
const OPERATOR_PAGE = /^(?:enter|operator)(?:\/|$)/;

/** A file of the console by its name; one page for all other addresses, which its script reads. */
async function sendConsole({ log, config }: Api, { req }: Call, name: string): Promise<Reply> {
  const isOperators = isOperatorHost(requestHost(req, config), config);
  if (name === '' && isOperators) return { status: 302, headers: { Location: '/console/operator' } };
  if (OPERATOR_PAGE.test(name) && !isOperators) throw nothingAt(req);
  // They lie in one folder; an id in an address may have dots as well.
  const isFile = name.includes('.') && !name.includes('/');
  if (name.includes('\0')) throw notFound('This is no page of the console.');
  const reply = await consoleFiles.reply(log, req, isFile ? name : 'index.html', COMPONENTS);
  if (reply === undefined) throw notFound(isFile ? `There is no file ${name}.` : 'This build has no console.');
  return reply;
}

const HTML: ResponseObject = {
  description: 'The page, or a file that a page names.',
  content: { 'text/html': { schema: { type: 'string' } } },
};

/** @param id of the operation that sends the first page */
const pagesBy = (id: string, summary: string, send: typeof sendDocs, query: 'any' | [] = []): Resource => {
  const common = { allow: 'anyone', summary, query, answer: HTML } as const;
  return {
    tag: 'service',
    pathParameters: { page: pathText('page') },
    operations: {
      'GET /': { ...common, id, handle: (api, call) => send(api, call, '') },
      'GET /*page': {
        ...common,
        id: `${id}Page`,
        handle: (api, call) => send(api, call, [call.req.params.page].flat().join('/')),
      },
    },
  };
};

export const docs = pagesBy('getDocs', 'The guides and the API reference, for browsers', sendDocs);
/** The page's script reads the parameters. */
export const consolePages = pagesBy('getConsole', 'The console, for browsers', sendConsole, 'any');

/** Redirects the service's root to the pages. */
export const home: Resource = {
  tag: 'service',
  operations: {
    'GET /': {
      id: 'getHome',
      summary: 'Leads to /docs',
      allow: 'anyone',
      status: 302,
      answer: NO_CONTENT,
      handle(_api, { req }) {
        // Express matches // as well.
        if (!/^\/(?:\?|$)/.test(req.originalUrl)) throw notFound(`There is nothing at ${req.path}.`);
        return { headers: { Location: '/docs', 'Cache-Control': 'no-cache' } };
      },
    },
  },
};

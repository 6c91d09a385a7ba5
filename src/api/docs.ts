/** Pages for people at /docs, which need no token; `/` redirects there. The build makes them (docs/site). */
import { readdir, readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import { tagOf } from '../commands/preconditions.js';
import type { Api } from './deps.js';
import { notFound } from './errors.js';
import { pathText, type Reply, type Resource } from './routes/operation.js';

/** Pages may only use what this server has. */
const POLICY = {
  'default-src': "'none'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
  'connect-src': "'self'",
  'img-src': 'data:',
  'script-src': "'self'",
  'style-src': "'self'",
};
const policyText = (policy: { readonly [directive: string]: string }): string =>
  Object.entries(policy)
    .map(([directive, sources]) => `${directive} ${sources}`)
    .join('; ');

const STRICT = policyText(POLICY);
/** The reference component has inline styles in its HTML, but no inline scripts. */
const REFERENCE = policyText({ ...POLICY, 'style-src': "'self' 'unsafe-inline'" });
const REFERENCE_PAGE = 'index.html';

const PAGE_HEADERS = { 'Referrer-Policy': 'no-referrer', 'Cross-Origin-Opener-Policy': 'same-origin' };

/** Pages are revalidated each time; all other files have a hash of their contents in their name. */
const cacheControl = (type: string): string =>
  type.startsWith('text/html') ? 'no-cache' : 'public, max-age=31536000, immutable';

async function send({ log }: Api, name: string): Promise<Reply> {
  const files = await siteFiles(log);
  const { type, tag, bytes, compressed } = files.get(name) ?? files.get(`${name}.html`) ?? noSuchPage(name);
  return {
    body: [bytes],
    compressed,
    tag,
    headers: {
      'Content-Type': type,
      'Cache-Control': cacheControl(type),
      'Content-Security-Policy': name === REFERENCE_PAGE ? REFERENCE : STRICT,
      ...PAGE_HEADERS,
    },
  };
}

function noSuchPage(name: string): never {
  throw notFound(`There is no page ${name}; /docs lists all pages.`);
}

const html = (description: string) => ({ description, content: { 'text/html': { schema: { type: 'string' } } } });

export const docs: Resource = {
  tag: 'service',
  pathParameters: { page: pathText('page') },
  operations: {
    'GET /': {
      id: 'getDocs',
      summary: 'The API reference, where each operation can be tried',
      description: 'A page for browsers, which shows /openapi.json.',
      allow: 'anyone',
      answer: html('The page.'),
      handle: (api) => send(api, REFERENCE_PAGE),
    },
    'GET /:page': {
      id: 'getDocsPage',
      summary: 'A guide',
      description: 'Such as getting-started.',
      allow: 'anyone',
      answer: html('The page, or a file that a page names.'),
      errors: [404],
      handle: (api, { req }) => send(api, String(req.params.page)),
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

type SiteFile = {
  readonly type: string;
  readonly tag: string;
  readonly bytes: Uint8Array;
  readonly compressed: { readonly br: Uint8Array; readonly gzip: Uint8Array };
};

type SiteFiles = ReadonlyMap<string, SiteFile>;

const SITE = new URL('../site/', import.meta.url);

const TYPES: { readonly [ending: string]: string } = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
};

let read: Promise<SiteFiles> | undefined;

/** By name; about a megabyte in all. Empty if they cannot be read, which is logged once. */
function siteFiles(log: Logger): Promise<SiteFiles> {
  read ??= readAll().catch((error: unknown) => {
    log.error({ err: error }, 'the pages of /docs cannot be read; build them with "npm run build"');
    return new Map();
  });
  return read;
}

async function readAll(): Promise<SiteFiles> {
  const names = (await readdir(SITE)).filter((name) => endingOf(name) in TYPES);
  return new Map(await Promise.all(names.map(async (name) => [name, await readOne(name)] as const)));
}

const endingOf = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

async function readOne(name: string): Promise<SiteFile> {
  const [bytes, br, gzip] = await Promise.all(['', '.br', '.gz'].map((end) => readFile(new URL(name + end, SITE))));
  if (bytes === undefined || br === undefined || gzip === undefined) throw new Error(`${name} is incomplete.`);
  return { type: TYPES[endingOf(name)] ?? '', tag: tagOf(bytes), bytes, compressed: { br, gzip } };
}

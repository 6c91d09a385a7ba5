/** Files for browsers that the build makes, in a folder of dist/: read once, sent compressed, cached by their names. */
import { readdir, readFile } from 'node:fs/promises';
import { sep } from 'node:path';
import type { Logger } from 'pino';
import { tagOf } from '../commands/preconditions.js';
import type { ResponseObject } from './openapi/schema.js';
import type { Reply } from './routes/operation.js';

/** A content security policy. By default, pages may only use what this server has. */
export function contentSecurityPolicy(more: { readonly [directive: string]: string } = {}): string {
  const policy = {
    'default-src': "'none'",
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
    'connect-src': "'self'",
    'img-src': 'data:',
    'script-src': "'self'",
    'style-src': "'self'",
    ...more,
  };
  return Object.entries(policy)
    .map(([directive, sources]) => `${directive} ${sources}`)
    .join('; ');
}

/** Documentation of a page. */
export const htmlAnswer = (description: string): ResponseObject => ({
  description,
  content: { 'text/html': { schema: { type: 'string' } } },
});

type PageFile = {
  readonly type: string;
  readonly tag: string;
  readonly bytes: Uint8Array;
  readonly compressed: { readonly br: Uint8Array; readonly gzip: Uint8Array };
};

const TYPES: { readonly [ending: string]: string } = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json',
  svg: 'image/svg+xml',
};

const PAGE_HEADERS = {
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
};

/** All other files have a hash of their contents in their names. */
const REVALIDATED = ['html', 'json'];

export class PageFiles {
  readonly #folder: URL;
  #names: Promise<ReadonlySet<string>> | undefined;
  /** Those that were asked for; all of a folder are some megabytes. */
  readonly #read = new Map<string, PageFile>();

  /** @param folder name of a folder of dist/ */
  constructor(folder: 'site' | 'console') {
    this.#folder = new URL(`../${folder}/`, import.meta.url);
  }

  /** The answer with the file of this name below the folder; undefined if there is none. */
  async reply(log: Logger, name: string, policy: string): Promise<Reply | undefined> {
    if (!(await this.#all(log)).has(name)) return undefined;
    const file = this.#read.get(name) ?? (await this.#readOne(name));
    this.#read.set(name, file);
    const { type, tag, bytes, compressed } = file;
    return {
      body: bytes,
      compressed,
      tag,
      headers: {
        'Content-Type': type,
        'Cache-Control': REVALIDATED.includes(endingOf(name)) ? 'no-cache' : 'public, max-age=31536000, immutable',
        'Content-Security-Policy': policy,
        ...PAGE_HEADERS,
      },
    };
  }

  /** All names. None if the folder cannot be read, which is logged once. */
  #all(log: Logger): Promise<ReadonlySet<string>> {
    this.#names ??= this.#list().catch((error: unknown) => {
      log.error({ err: error }, `${this.#folder.pathname} cannot be read; build it with "npm run build"`);
      return new Set();
    });
    return this.#names;
  }

  async #list(): Promise<ReadonlySet<string>> {
    const names = await readdir(this.#folder, { recursive: true });
    return new Set(names.map((name) => name.replaceAll(sep, '/')).filter((name) => endingOf(name) in TYPES));
  }

  async #readOne(name: string): Promise<PageFile> {
    const [bytes, br, gzip] = await Promise.all(
      ['', '.br', '.gz'].map((end) => readFile(new URL(name + end, this.#folder))),
    );
    if (bytes === undefined || br === undefined || gzip === undefined) throw new Error(`${name} is incomplete.`);
    return { type: TYPES[endingOf(name)] ?? '', tag: tagOf(bytes), bytes, compressed: { br, gzip } };
  }
}

const endingOf = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

/** The files of dist/site, which the build makes (docs/site). Read at the first request, then kept. */
import { readdir, readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import { tagOf } from '../../commands/preconditions.js';

export type SiteFile = {
  readonly type: string;
  readonly tag: string;
  readonly bytes: Uint8Array;
  readonly compressed: { readonly br: Uint8Array; readonly gzip: Uint8Array };
};

type SiteFiles = ReadonlyMap<string, SiteFile>;

const SITE = new URL('../../site/', import.meta.url);

const TYPES: { readonly [ending: string]: string } = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
};

let read: Promise<SiteFiles> | undefined;

/** By name; about a megabyte in all. Empty if they cannot be read, which is logged once. */
export function siteFiles(log: Logger): Promise<SiteFiles> {
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
  if (bytes === undefined || br === undefined || gzip === undefined) throw new Error(`${name} is not whole.`);
  return { type: TYPES[endingOf(name)] ?? '', tag: tagOf(bytes), bytes, compressed: { br, gzip } };
}

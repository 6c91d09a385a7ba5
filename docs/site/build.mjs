/**
 * Makes dist/site, which the service serves at /docs: the repository's Markdown, and the reference with Swagger UI. What lies
 * below assets/ has a hash of its contents in its name.
 *
 * @throws Error where a link leads to nothing, or a page is in no group of the navigation
 */
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FIRST, NOT_FOUND, pageOf } from './layout.mjs';
import { render } from './markdown.mjs';
import { pages } from './pages.mjs';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const REPOSITORY = at('../../');
const SITE = at('../../dist/site');

/** @returns the address of a file with these contents */
function asset(name, contents) {
  const hash = createHash('sha256').update(contents).digest('hex').slice(0, 10);
  const path = `assets/${name.replace(/(\.\w+)$/, `.${hash}$1`)}`;
  writeFileSync(join(SITE, path), contents);
  return `/docs/${path}`;
}

const write = (name, text) => {
  mkdirSync(join(SITE, name, '..'), { recursive: true });
  writeFileSync(join(SITE, name), text);
};

/** @returns the address of a copy of this file */
const file = (name, from = at(name)) => asset(name, readFileSync(from));

function makePages() {
  const assets = { styles: [file('site.css')], scripts: [file('site.js')] };
  const fileAt = (path) => file(`${basename(path)}${path.endsWith('.png') ? '' : '.txt'}`, join(REPOSITORY, path));
  const byFile = new Map(pages.map((page) => [page.file, page]));
  const rendered = pages.map((page) => ({ page, ...render(page, byFile, fileAt) }));
  checkLinks(rendered);
  for (const { page, html, headings } of rendered)
    write(`${page.address.replace('/docs/', '')}.html`, pageOf(page, assets, { kind: 'text', main: html, headings }));
  write('index.html', pageOf({ title: 'Dynamic Assets', address: '/docs' }, assets, { kind: 'plain', main: FIRST }));
  write('404.html', pageOf({ title: 'There is no such page' }, assets, { kind: 'plain', main: NOT_FOUND }));
  const sections = rendered.flatMap(({ page, sections: found }) =>
    found.map(({ id, text, level, body }) => [
      level === 1 ? page.address : `${page.address}#${id}`,
      page.title,
      level === 1 ? '' : text,
      body.replace(/\s+/g, ' ').trim(),
    ]),
  );
  write('search.json', JSON.stringify(sections));
}

function checkLinks(rendered) {
  const others = ['/docs', '/docs/reference', '/console'];
  const known = new Set(
    rendered.flatMap(({ page: { address }, headings }) => [address, ...headings.map(({ id }) => `${address}#${id}`)]),
  );
  const dead = rendered.flatMap(({ page, links }) =>
    links.filter((link) => !known.has(link) && !others.includes(link)).map((link) => `${page.file} links to ${link}`),
  );
  const files = readdirSync(join(REPOSITORY, 'docs'), { recursive: true }).map((name) => `docs/${name}`);
  const isPage = (file) => file.endsWith('.md') && !/^docs\/(decisions|snippets)\//.test(file);
  const lost = files
    .filter((file) => isPage(file) && pages.every((page) => page.file !== file))
    .map((file) => `${file} is not in pages.mjs`);
  if (dead.length + lost.length > 0) throw new Error([...dead, ...lost].join('\n'));
}

function makeReference() {
  const component = (name) => fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`));
  const assets = {
    styles: [file('site.css'), file('swagger-ui.css', component('swagger-ui.css')), file('reference.css')],
    scripts: [file('site.js'), file('swagger-ui.js', component('swagger-ui-bundle.js')), file('reference.js')],
  };
  const main = readFileSync(at('reference.html'), 'utf8');
  const page = { title: 'API reference', address: '/docs/reference' };
  write('reference.html', pageOf(page, assets, { kind: 'reference', main, beside: '' }));
  copyFileSync(component('LICENSE'), join(SITE, 'LICENSE-swagger-ui'));
}

rmSync(SITE, { recursive: true, force: true });
mkdirSync(join(SITE, 'assets'), { recursive: true });
makePages();
makeReference();

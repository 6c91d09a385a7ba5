/**
 * Makes dist/site, which the service serves at /docs: guides and pages for integrators as HTML, and the component that
 * shows the API's description, all compressed too. Names with a hash of the contents may be cached for ever.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const require = createRequire(import.meta.url);
const COMPONENT = 'openapi-explorer/dist/browser/openapi-explorer.min.js';
const HERE = fileURLToPath(new URL('.', import.meta.url));
const DOCS = resolve(HERE, '..');
const SITE = resolve(HERE, '../../dist/site');

/** In the order of the menu. */
const GUIDES = [
  'getting-started',
  'read-and-follow-a-table',
  'synchronise-a-table',
  'orders-and-lines',
  'receive-a-webhook',
  'roles-and-scopes',
  'errors-and-retries',
];
/** Pages that the guides link to. */
const FURTHER = ['webhooks', 'webhook-events', 'limits'];

/** The smallest answers gain nothing; the largest, the component, takes a second at the highest level, for 2 % less. */
const BROTLI_LEVEL = 10;

function write(name, bytes) {
  const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_LEVEL };
  writeFileSync(join(SITE, name), bytes);
  writeFileSync(join(SITE, `${name}.br`), brotliCompressSync(bytes, { params }));
  writeFileSync(join(SITE, `${name}.gz`), gzipSync(bytes, { level: 9 }));
}

/** @returns the name it is served under, with a hash of its contents: `style.0123456789.css` */
function asset(path) {
  const bytes = readFileSync(path);
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 10);
  const name = basename(path).replace(/(?:\.min)?(\.\w+)$/, `.${hash}$1`);
  write(name, bytes);
  return name;
}

rmSync(SITE, { recursive: true, force: true });
mkdirSync(SITE, { recursive: true });

const { pageHtml } = await import('./markdown.mjs');
const component = require.resolve(COMPONENT);
const names = {
  style: asset(join(HERE, 'style.css')),
  guide: asset(join(HERE, 'guide.js')),
  reference: asset(join(HERE, 'reference.js')),
  component: asset(component),
};
writeFileSync(join(SITE, 'openapi-explorer.LICENSE'), readFileSync(join(component, '../../../LICENSE')));

const pages = [
  ...GUIDES.map((name) => ({ name, path: `guides/${name}.md`, isGuide: true })),
  ...FURTHER.map((name) => ({ name, path: `${name}.md`, isGuide: false })),
].map((page) => {
  const markdown = readFileSync(join(DOCS, page.path), 'utf8');
  return { ...page, markdown, title: /^# (.*)$/m.exec(markdown)?.[1] ?? page.name };
});

const menu = (current) =>
  [{ name: '', title: 'Reference' }, ...pages]
    .map(({ name, title }) => {
      const here = name === current ? ' aria-current="page"' : '';
      return `<a href="/docs${name === '' ? '' : `/${name}`}"${here}>${title}</a>`;
    })
    .join('\n');

const template = (file, values) =>
  readFileSync(join(HERE, file), 'utf8').replace(/\{\{(\w+)\}\}/g, (_, name) => values[name]);

for (const page of pages) {
  const values = { ...names, title: page.title, menu: menu(page.name), content: pageHtml(page, pages) };
  write(`${page.name}.html`, Buffer.from(template('guide.html', values)));
}
write('index.html', Buffer.from(template('reference.html', { ...names, menu: menu('') })));

/**
 * Makes dist/site, which the service serves at /docs: the guides by VitePress, and the reference with Scalar's component.
 * All of it is compressed too. What lies below assets/ has a hash of its contents in its name.
 */
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { build } from 'vitepress';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const SITE = fileURLToPath(new URL('../../dist/site', import.meta.url));

const hashOf = (contents) => createHash('sha256').update(contents).digest('hex').slice(0, 10);

/** @returns the address of a file with these contents, below /docs/ */
function asset(name, contents) {
  const path = `assets/${name.replace(/(\.\w+)$/, `.${hashOf(contents)}$1`)}`;
  writeFileSync(join(SITE, path), contents);
  return path;
}

/** The policy of the pages allows scripts by their files alone. */
function withoutInlineScripts() {
  for (const name of filesBelow(SITE).filter((each) => each.endsWith('.html'))) {
    const html = readFileSync(name, 'utf8').replace(
      /<script(?: id="[\w-]+")?>([^<]+)<\/script>/g,
      (_, code) => `<script src="/docs/${asset('inline.js', code)}"></script>`,
    );
    writeFileSync(name, html);
  }
}

/** VitePress writes this page in the browser alone. */
function withText404() {
  const file = join(SITE, '404.html');
  const text = '<noscript><p>There is no such page. <a href="/docs">To the first page</a></p></noscript>';
  writeFileSync(file, readFileSync(file, 'utf8').replace('<div id="app">', `${text}$&`));
}

/** The component's modules are copied as they are: they name each other. */
function reference() {
  const from = fileURLToPath(new URL('browser/', import.meta.resolve('@scalar/api-reference/style.css')));
  const hash = hashOf(readFileSync(join(from, 'standalone.esm.js')));
  const folder = `assets/scalar.${hash}`;
  const isModule = (path) => !/\.map$|standalone\.js$/.test(path);
  cpSync(from, join(SITE, folder), { recursive: true, filter: isModule });
  const values = {
    component: `${folder}/standalone.esm.js`,
    style: asset('reference.css', readFileSync(join(HERE, 'reference.css'))),
    script: asset('reference.js', readFileSync(join(HERE, 'reference.js'))),
  };
  const page = readFileSync(join(HERE, 'reference.html'), 'utf8');
  writeFileSync(
    join(SITE, 'reference.html'),
    page.replace(/\{\{(\w+)\}\}/g, (_, name) => values[name]),
  );
}

const filesBelow = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name));

const [brotli, gzip] = [promisify(zlib.brotliCompress), promisify(zlib.gzip)];
const BROTLI = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 9 } };

/** On all processors at once. */
async function compress(file) {
  const bytes = readFileSync(file);
  const [br, gz] = await Promise.all([brotli(bytes, BROTLI), gzip(bytes)]);
  writeFileSync(`${file}.br`, br);
  writeFileSync(`${file}.gz`, gz);
}

rmSync(SITE, { recursive: true, force: true });
mkdirSync(SITE, { recursive: true });
await build(HERE, { outDir: SITE, onAfterConfigResolve() {} });
withoutInlineScripts();
withText404();
reference();
const licenceOf = (name) => readFileSync(new URL('LICENSE', import.meta.resolve(`${name}/package.json`)), 'utf8');
writeFileSync(
  join(SITE, 'LICENSES.md'),
  `VitePress: ${licenceOf('vitepress')}\nVue: ${licenceOf('vue')}\nScalar API Reference: MIT, Scalar (https://github.com/scalar)\n`,
);
await Promise.all(filesBelow(SITE).map(compress));

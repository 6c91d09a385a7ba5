/**
 * Makes dist/console from the compiled service: the types of its API from its own OpenAPI document, the check of the
 * console's code against them, and the bundle.
 *
 *   node console/build.mjs --types   writes the types, for editors and the fast loop too
 *   node console/build.mjs --pages   makes the rest, which needs them
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { transform } from 'lightningcss';

const HERE = dirname(fileURLToPath(import.meta.url));
const TYPES = join(HERE, 'generated');

/** Of a tenant without tables of its own, as the console reads the fields of tables from their info; and of the operator. */
async function writeTypes() {
  const [{ openApiWriter }, { areasOf }, { standardTables }] = await Promise.all([
    import('../dist/api/openapi/document.js'),
    import('../dist/api/routeTable.js'),
    import('../dist/domain/identity/tenantTables.js'),
  ]);
  const described = { origin: 'http://localhost', title: 'Console', tables: standardTables('dyn_stock_order') };
  const write = openApiWriter({ ...areasOf, people: [...areasOf.clients, ...areasOf.people] });
  mkdirSync(TYPES, { recursive: true });
  await writeTypesOf('schema.d.ts', write('people', described));
  // With the types of events, which complete what is typed.
  await writeTypesOf('operator.ts', write('operators', described), { enumValues: true });
}

async function writeTypesOf(file, json, options) {
  const { default: openApiTypes, astToString } = await import('openapi-typescript');
  const types = astToString(await openApiTypes(JSON.parse(json), { defaultNonNullable: false, ...options }));
  writeFileSync(join(TYPES, file), `// Written by console/build.mjs.\n${types}`);
}

function check() {
  const compiler = dirname(createRequire(join(HERE, '../package.json')).resolve('typescript/package.json'));
  const { status } = spawnSync(process.execPath, [join(compiler, 'bin/tsc'), '-p', HERE], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

const OF_MANTINE = /^m_[0-9a-f]+$/;

/** Mantine has one file with the styles of all components: what is for classes that no script names is left out. */
const usedStyles = {
  name: 'used-styles',
  enforce: 'post',
  generateBundle(_options, bundle) {
    const files = Object.values(bundle);
    const scripts = files.map((file) => (file.type === 'chunk' ? file.code : '')).join('\n');
    const named = new Set(scripts.match(/\bm_[0-9a-f]+\b/g));
    const isUsed = (selector) =>
      selector.every(({ type, name }) => type !== 'class' || !OF_MANTINE.test(name) || named.has(name));
    for (const file of files) {
      if (file.type !== 'asset' || !file.fileName.endsWith('.css')) continue;
      const { code } = transform({
        filename: file.fileName,
        code: Buffer.from(file.source),
        minify: true,
        visitor: { Rule: { style: (rule) => (rule.value.selectors.some(isUsed) ? undefined : []) } },
      });
      file.source = code;
    }
  },
};

async function bundle() {
  const { build } = await import('vite');
  await build({ configFile: join(HERE, 'vite.config.ts'), logLevel: 'warn', plugins: [usedStyles] });
  const made = join(HERE, '../dist/console');
  copyFileSync(join(HERE, 'src/font/LICENSE.txt'), join(made, 'LICENSE-inter.txt'));
  copyFileSync(join(HERE, 'src/icons/LICENSE.txt'), join(made, 'LICENSE-tabler.txt'));
  // Packed once, as small as can be, for browsers that take it.
  for (const name of readdirSync(made).filter((each) => /\.(?:js|css)$/.test(each)))
    writeFileSync(join(made, `${name}.br`), brotliCompressSync(readFileSync(join(made, name))));
}

if (process.argv.includes('--types')) await writeTypes();
if (process.argv.includes('--pages')) {
  check();
  await bundle();
}

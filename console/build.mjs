/**
 * Makes dist/console from the compiled service: the types of its API from its own OpenAPI document, the check of the
 * console's code against them, and the bundle.
 *
 *   node console/build.mjs --types   writes the types, for editors and the fast loop too
 *   node console/build.mjs --pages   makes the rest, which needs them
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

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
  await writeTypesOf('schema', write('people', described));
  await writeTypesOf('operator', write('operators', described));
}

async function writeTypesOf(name, json) {
  const { default: openApiTypes, astToString } = await import('openapi-typescript');
  const types = astToString(await openApiTypes(JSON.parse(json), { defaultNonNullable: false }));
  writeFileSync(join(TYPES, `${name}.d.ts`), `// Written by console/build.mjs.\n${types}`);
}

function check() {
  const compiler = dirname(createRequire(join(HERE, '../package.json')).resolve('typescript/package.json'));
  const { status } = spawnSync(process.execPath, [join(compiler, 'bin/tsc'), '-p', HERE], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

async function bundle() {
  const { build } = await import('vite');
  await build({ configFile: join(HERE, 'vite.config.ts'), logLevel: 'warn' });
}

if (process.argv.includes('--types')) await writeTypes();
if (process.argv.includes('--pages')) {
  check();
  await bundle();
}

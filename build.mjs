/**
 * Makes dist/: the compiled service and the pages at /docs. Does nothing where it was made of what is here now, which a stamp
 * in it says: a hash of the contents of all that a build reads, and one of all that it made. Contents, since times say
 * little after a checkout; of both, since files of dist may be gone or changed. The stamp is written last, so that a build
 * that failed or was interrupted has none.
 *
 *   node build.mjs            makes it where something has changed
 *   node build.mjs --force    makes it in any case
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(fileURLToPath(import.meta.url));
const DIST = join(ROOT, 'dist');
const STAMP = join(DIST, '.stamp');
/** What is installed is known by the list that npm keeps: the compiler and the component of /docs are read. */
const READ = [
  'src',
  'docs',
  'build.mjs',
  'tsconfig.json',
  'tsconfig.build.json',
  'package.json',
  'package-lock.json',
  'node_modules/.package-lock.json',
];

/** @returns a hash of the names and contents of all files there, in a fixed order */
function hashOf(paths) {
  const hash = createHash('sha256');
  const add = (path) => {
    const file = join(ROOT, path);
    if (!existsSync(file)) return;
    if (statSync(file).isDirectory()) for (const name of readdirSync(file).sort()) add(`${path}/${name}`);
    else if (file !== STAMP) {
      const bytes = readFileSync(file);
      hash.update(`${path}\0${bytes.length}\0`).update(bytes);
    }
  };
  for (const path of paths) add(path);
  return hash.digest('hex');
}

const stampOf = (read) => `${read} ${hashOf(['dist'])}\n`;

function run(...args) {
  const { status, signal } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) process.exit(signal === null ? status : 1);
}

// Before anything is read: what changes while it is built is built the next time.
const read = hashOf(READ);
const isForced = process.argv.includes('--force');
if (isForced || !existsSync(STAMP) || readFileSync(STAMP, 'utf8') !== stampOf(read)) {
  console.log('Building…');
  rmSync(DIST, { recursive: true, force: true });
  const compiler = createRequire(import.meta.url).resolve('typescript/package.json');
  run(join(dirname(compiler), 'bin/tsc'), '-p', 'tsconfig.build.json');
  run('docs/site/build.mjs');
  chmodSync(join(DIST, 'cli/index.js'), 0o755);
  writeFileSync(STAMP, stampOf(read));
}

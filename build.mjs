/**
 * Makes dist/ in three parts: the compiled service and its bundle, the pages at /docs, and the console. Does nothing for a
 * part that was made of what is here now, which a stamp says: a hash of the contents of all that the part reads, and one of
 * all that it made. Contents, since times say little after a checkout; of both, since files of dist may be gone or changed.
 * A part has no stamp while it is made, nor after a build of it that failed or was interrupted.
 *
 *   node build.mjs            makes what has changed
 *   node build.mjs --force    makes all of it
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const ROOT = dirname(fileURLToPath(import.meta.url));
const DIST = join(ROOT, 'dist');
const STAMPS = join(DIST, '.stamps.json');
/** What is installed is known by the list that npm keeps: the compiler and what makes the pages are read. */
const EACH_READS = ['build.mjs', 'package.json', 'package-lock.json', 'node_modules/.package-lock.json'];
const NOT_OF_THE_SERVICE = ['site', 'snippets', 'console', '.stamps.json'];
const CONSOLE = ['src', 'build.mjs', 'index.html', 'package.json', 'tsconfig.json', 'vite.config.ts'];
const TYPES = 'console/generated';

/** In this order: the console is checked against the types of the service's API. */
const PARTS = {
  service: {
    reads: ['src', 'tsconfig.json', 'tsconfig.build.json', 'console/build.mjs'],
    made: () => [
      ...readdirSync(DIST)
        .filter((name) => !NOT_OF_THE_SERVICE.includes(name))
        .map((name) => `dist/${name}`),
      TYPES,
    ],
    async make() {
      run(
        join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc'),
        '-p',
        'tsconfig.build.json',
      );
      await bundle();
      chmodSync(join(DIST, 'bundle/index.js'), 0o755);
      run('console/build.mjs', '--types');
    },
  },
  docs: {
    // Some pages of /docs lie at the root.
    reads: ['docs', 'README.md', 'CHANGELOG.md', 'SECURITY.md'],
    made: () => ['dist/site', 'dist/snippets'],
    make() {
      run('docs/site/build.mjs');
      // Exports have the programs that check their proofs.
      mkdirSync(join(DIST, 'snippets'));
      for (const name of ['proof.mjs', 'proof.py', 'proof.go', 'HOW-TO-CHECK.md'])
        copyFileSync(join(ROOT, 'docs/snippets', name), join(DIST, 'snippets', name));
    },
  },
  console: {
    // It reads CSV by the rule that the service writes it by.
    reads: [...CONSOLE.map((name) => `console/${name}`), TYPES, 'src/api/csv.ts'],
    made: () => ['dist/console'],
    make: () => run('console/build.mjs', '--pages'),
  },
};

/** @returns a hash of the names and contents of all files there, in a fixed order */
function hashOf(paths) {
  const hash = createHash('sha256');
  const add = (path) => {
    const file = join(ROOT, path);
    if (!existsSync(file)) return;
    if (statSync(file).isDirectory()) for (const name of readdirSync(file).sort()) add(`${path}/${name}`);
    else if (file !== STAMPS) {
      const bytes = readFileSync(file);
      hash.update(`${path}\0${bytes.length}\0`).update(bytes);
    }
  };
  for (const path of paths) add(path);
  return hash.digest('hex');
}

function run(...args) {
  const { status, signal } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) process.exit(signal === null ? status : 1);
}

/** Packages with files of their own that are not code, and those that only some engines need. */
const NOT_BUNDLED = [/^@rocicorp\//, /^@eventstore\//, /^mongodb$/, /^amqplib$/];
const PLACE = /(new URL\('\.\/([\w.]+\.js)', )?import\.meta\.url/g;

/**
 * Makes dist/bundle/index.js, which is dist/cli/index.js with most of what it imports in a few files, and one file for each
 * kind of thread: so a command starts in 0.2 s of the processor's time, where 800 modules took 0.6.
 */
async function bundle() {
  const places = {
    name: 'places',
    /** A thread's file is beside the bundle; all else is found from where the module was. */
    transform(code, id) {
      if (!code.includes('import.meta.url')) return undefined;
      return code.replace(PLACE, (found, isThread, thread) => {
        if (!isThread) return `new URL('../${relative(DIST, id)}', import.meta.url).href`;
        this.emitFile({ type: 'chunk', id: join(dirname(id), thread), fileName: thread });
        return found;
      });
    },
  };
  const program = await rolldown({
    input: join(DIST, 'cli/index.js'),
    platform: 'node',
    external: NOT_BUNDLED,
    plugins: [places],
  });
  await program.write({ dir: join(DIST, 'bundle') });
}

function stampsOfBuilds() {
  try {
    return JSON.parse(readFileSync(STAMPS, 'utf8'));
  } catch {
    // There was none, or its writing was interrupted.
    return {};
  }
}

mkdirSync(DIST, { recursive: true });
const isForced = process.argv.includes('--force');
const stamps = stampsOfBuilds();
let isBuilding = false;
for (const [name, { reads, made, make }] of Object.entries(PARTS)) {
  // Before anything is read: what changes while it is built is built the next time.
  const read = hashOf([...EACH_READS, ...reads]);
  if (!isForced && stamps[name] === `${read} ${hashOf(made())}`) continue;
  if (!isBuilding) console.log('Building…');
  isBuilding = true;
  delete stamps[name];
  writeFileSync(STAMPS, JSON.stringify(stamps));
  for (const path of made()) rmSync(join(ROOT, path), { recursive: true, force: true });
  await make();
  stamps[name] = `${read} ${hashOf(made())}`;
  writeFileSync(STAMPS, JSON.stringify(stamps));
}

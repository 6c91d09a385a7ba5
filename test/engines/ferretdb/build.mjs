/** Builds the server, where its sources have changed, and prints the path of the program. Needs a Go toolchain. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const sources = dirname(fileURLToPath(import.meta.url));
const hash = createHash('sha256');
for (const name of ['go.mod', 'go.sum', 'main.go', 'indexids.go']) hash.update(readFileSync(join(sources, name)));
const version = hash.digest('hex').slice(0, 16);
const cache = join(sources, '..', '..', '..', 'node_modules', '.cache', 'ferretdb');
const program = join(cache, version);

if (!existsSync(program)) {
  mkdirSync(cache, { recursive: true });
  // Two test runs may build at once: whoever is done first puts it in place.
  const built = `${program}.${process.pid}`;
  const environment = { ...process.env, CGO_ENABLED: '0' };
  execFileSync('go', ['build', '-o', built, '.'], { cwd: sources, env: environment, stdio: ['ignore', 2, 2] });
  renameSync(built, program);
}
process.stdout.write(program);

/**
 * Data directories in which the command line has made tenants, kept for the rest of the test run: most services under test
 * begin with the same few tenants, and a process of the command line takes more than half a second for each.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const DATA = 'data';
const SHOWN = 'shown.json';

/**
 * Fills a data directory with tenants.
 * @param wanted what the directory depends on
 * @param make makes them in a directory that is empty, when nobody has yet. @returns what the command line showed of them
 */
export async function withKeptTenants<T>(
  dataDir: string,
  wanted: unknown,
  make: (dataDir: string) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const run = process.env.TEST_RUN;
  if (run === undefined) return make(dataDir);
  const all = join(run, 'tenants');
  await mkdir(all, { recursive: true });
  const kept = join(all, createHash('sha256').update(JSON.stringify(wanted)).digest('hex').slice(0, 16));
  if (!existsSync(kept)) {
    const made = await mkdtemp(join(all, 'new-'));
    await mkdir(join(made, DATA));
    await writeFile(join(made, SHOWN), JSON.stringify(await make(join(made, DATA))));
    // Another worker may have been quicker.
    await rename(made, kept).catch(() => rm(made, { recursive: true }));
  }
  await cp(join(kept, DATA), dataDir, { recursive: true });
  return JSON.parse(await readFile(join(kept, SHOWN), 'utf8'));
}

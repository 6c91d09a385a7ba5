/** Packages of npm in a folder of their own, with the scripts that build their native parts. */
import { access, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './processes.js';

const INSTALL_LIMIT_MS = 900_000;

/** @param overrides versions of what the package itself depends on @returns where its commands are */
export async function installPackage(directory, name, version, overrides = {}) {
  const bin = join(directory, 'node_modules', '.bin');
  const installed = await access(join(directory, 'installed')).then(
    () => true,
    () => false,
  );
  if (installed) return bin;
  await mkdir(directory, { recursive: true });
  const manifest = { private: true, dependencies: { [name]: version }, overrides };
  await writeFile(join(directory, 'package.json'), JSON.stringify(manifest));
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts=false'], {
    cwd: directory,
    timeout: INSTALL_LIMIT_MS,
    maxBuffer: 2 ** 26,
  });
  await writeFile(join(directory, 'installed'), '');
  return bin;
}

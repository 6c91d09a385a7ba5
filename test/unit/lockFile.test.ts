/** What `npm ci` brings onto a machine: only packages of the registry, each with a hash, and few that run code at install. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';

const lock = z
  .object({
    lockfileVersion: z.int(),
    packages: z.record(
      z.string(),
      z.looseObject({
        version: z.string().optional(),
        name: z.string().optional(),
        resolved: z.string().optional(),
        integrity: z.string().optional(),
        link: z.boolean().optional(),
        license: z.string().optional(),
        dev: z.boolean().optional(),
        optional: z.boolean().optional(),
        os: z.array(z.string()).optional(),
        cpu: z.array(z.string()).optional(),
        libc: z.array(z.string()).optional(),
        hasInstallScript: z.boolean().optional(),
        dependencies: z.record(z.string(), z.string()).optional(),
        optionalDependencies: z.record(z.string(), z.string()).optional(),
      }),
    ),
  })
  .parse(JSON.parse(readFileSync(resolve(__dirname, '../../package-lock.json'), 'utf8')));
const packageJson = z
  .looseObject({ allowScripts: z.record(z.string(), z.boolean()) })
  .parse(JSON.parse(readFileSync(resolve(__dirname, '../../package.json'), 'utf8')));

/** Without this package and the console, which is a workspace of it. */
const packages = Object.entries(lock.packages).filter(
  ([path, { resolved }]) => path.includes('node_modules/') && resolved !== 'console',
);
/** An alias has its own name beside that of its folder. */
const nameOf = ([path, { name }]: (typeof packages)[number]): string =>
  name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
const pathsOf = (isWrong: (each: (typeof packages)[number][1]) => boolean): readonly string[] =>
  packages.filter(([, each]) => isWrong(each)).map(([path]) => path);

/** Why each may run code when it is installed. */
const INSTALL_SCRIPTS: { readonly [name: string]: string } = {
  '@rocicorp/zero-sqlite3': 'not allowed to run; looks for the binary that the package brings',
  '@swc/core': 'checks that the binary for this machine is there; development only',
  '@parcel/watcher': 'not allowed to run; its optional package brings the binary; development only',
  protobufjs: 'not allowed to run; prints a warning only',
};

/** Of what is shipped; each lets it be used in a closed product. */
const LICENCES = ['MIT', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'BlueOak-1.0.0'];

it('every package that is shipped, or installed on Linux x64, has a SHA-512 of what it must be', () => {
  expect(lock.lockfileVersion).toBe(3);
  // Optional binaries of development tools for other systems; a registry need not have them all.
  const isElsewhere = ({ dev, optional, os, cpu, libc }: (typeof packages)[number][1]): boolean =>
    dev === true && optional === true && !(os?.includes('linux') && cpu?.includes('x64') && libc?.includes('glibc'));
  expect(pathsOf((each) => each.integrity?.startsWith('sha512-') !== true && !isElsewhere(each))).toEqual([]);
});

it('every package comes from the registry: none from a repository, an address or a folder', () => {
  // The file names no address (.npmrc): npm asks the registry for each.
  expect(pathsOf(({ resolved, link }) => link === true || resolved !== undefined)).toEqual([]);
  const elsewhere = Object.entries(lock.packages).flatMap(([path, { dependencies, optionalDependencies }]) =>
    Object.entries({ ...dependencies, ...optionalDependencies })
      .filter(([, range]) => /[/:]/.test(range) && !range.startsWith('npm:'))
      .map(([name, range]) => `${path} wants ${name} from ${range}`),
  );
  expect(elsewhere).toEqual([]);
});

it('only packages named here have a script that runs at their installation, and package.json allows no others', () => {
  const found = packages.filter(([, each]) => each.hasInstallScript === true).map(nameOf);
  expect(found.filter((name) => !(name in INSTALL_SCRIPTS))).toEqual([]);
  expect(Object.keys(packageJson.allowScripts).filter((name) => !found.includes(name))).toEqual([]);
});

it('what is shipped asks for no newer Node than 20, also where the lock says less than the package: decision 0003', () => {
  const driver = lock.packages['node_modules/@rocicorp/zero-sqlite3'];
  expect(driver).toMatchObject({ version: '1.1.4' });
  expect(driver?.engines).toBeUndefined();
});

it('what is shipped has a licence that allows it', () => {
  const isAllowed = (license = ''): boolean =>
    license
      .replace(/[()]/g, '')
      .split(' AND ')
      .every((part) => part.split(' OR ').some((each) => LICENCES.includes(each)));
  expect(pathsOf(({ dev, license }) => dev !== true && !isAllowed(license))).toEqual([]);
});

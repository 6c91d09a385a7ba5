/**
 * The files of tenants' rows in one directory. `acme.db` is a symbolic link to `acme.<generation>.db`, so that other rows take
 * the place of a tenant's in one step, and the logs that SQLite keeps beside each file are never mixed up.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { MAX_BYTES_CHECKED_AT_START } from '../../../domain/limits.js';
import { errorCode } from '../../../supervision/errorCode.js';
import { createTenantFile, UnusableRowsError } from './layout.js';

const OF_TENANT = /^([^.]+)\.db$/;
const GENERATION = /^([^.]+)\.(\d+)\.db$/;
const BESIDE = ['', '-wal', '-shm'] as const;
/** Readers leave the name of a tenant here whose file they found damaged. */
const LOST = 'lost';

export class RowFiles {
  /** By number: files that were looked at, and those that are too large for it. */
  readonly #checked = new Set<number>();

  constructor(readonly directory: string) {
    mkdirSync(join(directory, LOST), { recursive: true, mode: 0o700 });
  }

  /** Where a tenant's rows are, if there are any. */
  path(tenant: string): string {
    return join(this.directory, `${tenant}.db`);
  }

  /**
   * It tells whether another file has taken the place of the one that was opened. Undefined: there is none.
   * @throws UnusableRowsError if somebody has removed the file
   */
  number(tenant: string): number | undefined {
    const found = statSync(this.path(tenant), { throwIfNoEntry: false })?.ino;
    if (found === undefined && this.#current(tenant) !== undefined)
      throw new UnusableRowsError(`The file of ${this.path(tenant)} is gone.`);
    return found;
  }

  /** Once for each file that is small enough to look for damage when it is opened. */
  isNotChecked(tenant: string): boolean {
    const { ino, size } = statSync(this.path(tenant));
    const isNew = !this.#checked.has(ino);
    this.#checked.add(ino);
    return isNew && size <= MAX_BYTES_CHECKED_AT_START;
  }

  has(tenant: string): boolean {
    return this.#current(tenant) !== undefined;
  }

  tenants(): readonly string[] {
    return readdirSync(this.directory).flatMap((name) => OF_TENANT.exec(name)?.[1] ?? []);
  }

  /** Removes files that no link leads to, which a copy or an interruption has left. */
  removeRemains(): void {
    for (const name of readdirSync(this.directory)) {
      const [, tenant] = GENERATION.exec(name) ?? [];
      if (tenant !== undefined && this.#current(tenant) !== name) this.removeFile(join(this.directory, name));
    }
  }

  /** Makes an empty file that is not shown yet. An older one is removed. */
  create(tenant: string): string {
    let generation = Number(GENERATION.exec(this.#current(tenant) ?? '')?.[2] ?? 0);
    let file: string;
    // A copy may have the next number already.
    do {
      generation += 1;
      file = join(this.directory, `${tenant}.${generation}.db`);
    } while (existsSync(file));
    createTenantFile(file);
    return file;
  }

  /** Puts the file in the place of the tenant's rows. Nobody writes to those any more: they are removed, or kept aside. */
  show(tenant: string, file: string, aside?: string): void {
    const before = this.#current(tenant);
    const link = `${this.path(tenant)}-next`;
    rmSync(link, { force: true });
    symlinkSync(file.slice(this.directory.length + 1), link);
    renameSync(link, this.path(tenant));
    if (before === undefined) return;
    for (const end of aside === undefined ? [] : BESIDE) {
      rmSync(aside + end, { force: true });
      if (existsSync(join(this.directory, before) + end)) renameSync(join(this.directory, before) + end, aside + end);
    }
    this.removeFile(join(this.directory, before));
  }

  remove(tenant: string): void {
    const current = this.#current(tenant);
    rmSync(this.path(tenant), { force: true });
    if (current !== undefined) this.removeFile(join(this.directory, current));
  }

  removeFile(file: string): void {
    for (const end of BESIDE) rmSync(file + end, { force: true });
  }

  /** The name under which a damaged file is kept, so that a person can look at it, in place of one that was kept before. */
  aside(tenant: string): string {
    return `${this.path(tenant)}.damaged`;
  }

  /** Waits until the disk has all that was committed. */
  async flush(tenant: string): Promise<void> {
    const current = this.#current(tenant);
    if (current === undefined) return;
    try {
      const log = await open(`${join(this.directory, current)}-wal`, 'r');
      await log.datasync().finally(() => log.close());
    } catch (error) {
      // Then all is in the file itself, or it is gone.
      if (errorCode(error) !== 'ENOENT') throw error;
    }
  }

  markLost(tenant: string): void {
    try {
      writeFileSync(join(this.directory, LOST, tenant), '', { mode: 0o600 });
    } catch {
      // The next one that meets the damage tries again.
    }
  }

  /** The tenants that readers have marked since the last call. */
  takeLost(): readonly string[] {
    const lost = readdirSync(join(this.directory, LOST));
    for (const tenant of lost) rmSync(join(this.directory, LOST, tenant), { force: true });
    return lost;
  }

  #current(tenant: string): string | undefined {
    try {
      return readlinkSync(this.path(tenant));
    } catch {
      return undefined;
    }
  }
}

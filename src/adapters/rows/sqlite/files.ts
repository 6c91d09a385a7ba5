/**
 * The files of tenants' rows in one directory. `acme.db` is a symbolic link to `acme.<uuid>.db`, so that other rows take
 * the place of a tenant's in one step, and the logs that SQLite keeps beside each file are never mixed up.
 */
import { randomUUID } from 'node:crypto';
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
import { basename, join } from 'node:path';
import { MAX_BYTES_CHECKED_AT_START } from '../../../domain/limits.js';
import { errorCode } from '../../../supervision/errorCode.js';
import { removeDerived } from '../../derivedSqlite.js';
import { Connection } from './connection.js';
import { createTenantFile, type Opening, openTenantFile, UnusableRowsError } from './layout.js';

const OF_TENANT = /^([^.]+)\.db$/;
const OF_ROWS = /^([^.]+)\.[^.]+\.db$/;
/** Readers leave the name of a tenant here whose file they found damaged. */
const LOST = 'lost';

export class RowFiles {
  /** Files that were looked at, and those that are too large for it. */
  readonly #checked = new Set<string>();

  constructor(readonly directory: string) {
    mkdirSync(join(directory, LOST), { recursive: true, mode: 0o700 });
  }

  /** The file of a tenant's rows, if there are any. Another one when others have taken their place. */
  current(tenant: string): string | undefined {
    try {
      // The name alone: a copy of the directory may have links to the files of the original.
      return join(this.directory, basename(readlinkSync(this.#link(tenant))));
    } catch {
      return undefined;
    }
  }

  #link(tenant: string): string {
    return join(this.directory, `${tenant}.db`);
  }

  /**
   * Looks for damage when it opens the file first, if it is small enough.
   * @throws UnusableRowsError, also if somebody has removed the file, and errors of SQLite
   */
  open(file: string, opening?: Omit<Opening, 'isChecked'>): Connection {
    if (!existsSync(file)) throw new UnusableRowsError(`The file ${file} is gone.`);
    const isChecked = !this.#checked.has(file) && statSync(file).size <= MAX_BYTES_CHECKED_AT_START;
    this.#checked.add(file);
    return new Connection(openTenantFile(file, { ...opening, isChecked }));
  }

  tenants(): readonly string[] {
    return readdirSync(this.directory).flatMap((name) => OF_TENANT.exec(name)?.[1] ?? []);
  }

  /** Removes files that no link leads to, which a copy or an interruption has left. */
  removeRemains(): void {
    for (const name of readdirSync(this.directory)) {
      const file = join(this.directory, name);
      const [, tenant] = OF_ROWS.exec(name) ?? [];
      if (tenant !== undefined && this.current(tenant) !== file) removeDerived(file);
    }
  }

  /** Makes an empty file that is not shown yet. */
  create(tenant: string): string {
    const file = join(this.directory, `${tenant}.${randomUUID()}.db`);
    createTenantFile(file);
    return file;
  }

  /** Puts the file in the place of the tenant's rows. Nobody writes to those any more: they are removed, or kept aside. */
  show(tenant: string, file: string, aside?: string): void {
    const before = this.current(tenant);
    const link = `${this.#link(tenant)}-next`;
    rmSync(link, { force: true });
    symlinkSync(basename(file), link);
    renameSync(link, this.#link(tenant));
    if (before === undefined) return;
    if (aside !== undefined) {
      removeDerived(aside);
      for (const end of ['', '-wal', '-shm']) if (existsSync(before + end)) renameSync(before + end, aside + end);
    }
    removeDerived(before);
  }

  remove(tenant: string): void {
    const file = this.current(tenant);
    rmSync(this.#link(tenant), { force: true });
    if (file !== undefined) removeDerived(file);
    removeDerived(this.aside(tenant));
  }

  /** The name under which a damaged file is kept, so that a person can look at it, in place of one that was kept before. */
  aside(tenant: string): string {
    return `${this.#link(tenant)}.damaged`;
  }

  /** Waits until the disk has all that was committed. */
  async flush(tenant: string): Promise<void> {
    try {
      const log = await open(`${this.current(tenant)}-wal`, 'r');
      await log.datasync().finally(() => log.close());
    } catch (error) {
      // Then all is in the file itself, or it is gone.
      if (errorCode(error) !== 'ENOENT') throw error;
    }
  }

  /** Where it cannot, the next one that meets the damage tries again. */
  markLost(tenant: string): void {
    try {
      writeFileSync(join(this.directory, LOST, tenant), '', { mode: 0o600 });
    } catch {
      // As above.
    }
  }

  /** The tenants that readers have marked since the last call. */
  takeLost(): readonly string[] {
    const lost = readdirSync(join(this.directory, LOST));
    for (const tenant of lost) rmSync(join(this.directory, LOST, tenant), { force: true });
    return lost;
  }
}

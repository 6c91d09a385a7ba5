/** A file system of its own, in memory, that a test fills and empties again. Only root can have one. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class SmallDisk {
  readonly directory = mkdtempSync(join(tmpdir(), 'disk-'));

  /** @throws Error where it cannot be had */
  constructor(megabytes: number) {
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=700`, 'tmpfs', this.directory], {
        stdio: 'ignore',
      });
    } catch (error) {
      rmdirSync(this.directory);
      throw error;
    }
  }

  /** All but so many bytes. */
  fill(left: number): void {
    const { bavail, bsize } = statfsSync(this.directory);
    writeFileSync(this.#ballast, Buffer.alloc(Math.max(0, bavail * bsize - left)));
  }

  empty(): void {
    rmSync(this.#ballast);
  }

  dispose(): void {
    execFileSync('umount', [this.directory]);
    rmdirSync(this.directory);
  }

  get #ballast(): string {
    return join(this.directory, 'ballast');
  }
}

/** Why there is none; undefined when there is one. */
export function smallDiskMissing(): string | undefined {
  try {
    new SmallDisk(1).dispose();
    return undefined;
  } catch {
    return 'only root may mount a small file system';
  }
}

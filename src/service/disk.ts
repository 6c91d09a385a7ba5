/** The disk of the data directory: its size, what is free compared with DISK_RESERVE, and what the embedded log takes. */
import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config.js';

/** Milliseconds between two looks at the free space of the disk, and at which tenant's log grew most. */
const DISK_LOOKED_AT_EVERY_MS = 1_000;

/** Bytes that the service may still write in a directory. */
export async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

export async function diskBytes(directory: string): Promise<number> {
  const { blocks, bsize } = await statfs(directory);
  return blocks * bsize;
}

/** Size of the embedded event log with its write-ahead log. */
export async function logFileBytes(directory: string): Promise<number> {
  const sizes = ['events.db', 'events.db-wal'].map((name) =>
    stat(join(directory, name)).then(
      ({ size }) => size,
      () => 0,
    ),
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

type DiskConfig = Pick<Config, 'DATA_DIR' | 'DISK_RESERVE' | 'EVENTSTORE_URL' | 'MONGODB_URL' | 'RABBITMQ_URL'>;

/** As of a moment ago. Without embedded engines next to nothing is written to the disk of DATA_DIR, and nothing is refused. */
export function openDiskReserve({ DATA_DIR, DISK_RESERVE, ...urls }: DiskConfig) {
  const isUsed = [urls.EVENTSTORE_URL, urls.MONGODB_URL, urls.RABBITMQ_URL].includes(undefined);
  // A disk that cannot be asked is no reason to refuse.
  let free = Number.POSITIVE_INFINITY;
  const measure = (): void =>
    void freeBytes(DATA_DIR).then(
      (found) => {
        free = found;
      },
      () => {
        free = Number.POSITIVE_INFINITY;
      },
    );
  const looking = setInterval(measure, DISK_LOOKED_AT_EVERY_MS).unref();
  measure();
  return {
    reserve: isUsed ? DISK_RESERVE : 0,
    get free() {
      return free;
    },
    stop: async () => clearInterval(looking),
  };
}

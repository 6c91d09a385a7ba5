/** Free space of the disk that the embedded engines write to, compared with DISK_RESERVE. */
import { statfs } from 'node:fs/promises';
import type { Config } from '../config.js';
import { DISK_LOOKED_AT_EVERY_MS } from '../domain/limits.js';
import { singleFlight } from '../supervision/waiting.js';

/** Bytes that the service may still write in a directory. */
export async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

export class DiskReserve {
  readonly reserve: number;
  readonly #look: () => Promise<void>;
  #free = Number.POSITIVE_INFINITY;
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** @param reserve in bytes; 0: none */
  constructor(reserve: number, free: () => Promise<number>) {
    this.reserve = reserve;
    this.#look = singleFlight(async () => {
      // A disk that cannot be asked is no reason to refuse.
      this.#free = await free().catch(() => Number.POSITIVE_INFINITY);
      this.#lookedAt = performance.now();
    });
  }

  /** As of the last look; begins another one if that is old. */
  get free(): number {
    if (this.reserve > 0 && performance.now() - this.#lookedAt > DISK_LOOKED_AT_EVERY_MS) void this.#look();
    return this.#free;
  }
}

type DiskConfig = Pick<Config, 'DATA_DIR' | 'DISK_RESERVE' | 'EVENTSTORE_URL' | 'MONGODB_URL' | 'RABBITMQ_URL'>;

/** Without embedded engines next to nothing is written to the disk of DATA_DIR, and nothing is refused. */
export function openDiskReserve({ DATA_DIR, DISK_RESERVE, ...urls }: DiskConfig): DiskReserve {
  const isUsed = [urls.EVENTSTORE_URL, urls.MONGODB_URL, urls.RABBITMQ_URL].includes(undefined);
  const reserve = new DiskReserve(isUsed ? DISK_RESERVE : 0, () => freeBytes(DATA_DIR));
  void reserve.free;
  return reserve;
}

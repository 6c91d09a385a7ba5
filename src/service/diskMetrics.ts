/** Metrics of the data directory: free space, size of the log, last backup. */
import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { Gauge, type Registry } from 'prom-client';
import type { Config } from '../config.js';
import { lastBackupAt } from './dataDirectory.js';

const LOG_FILES = ['events.db', 'events.db-wal'];

export function registerDiskMetrics(
  registry: Registry,
  { DATA_DIR, EVENTSTORE_URL }: Pick<Config, 'DATA_DIR' | 'EVENTSTORE_URL'>,
): void {
  const register = (name: string, help: string, value: () => Promise<number>): void => {
    new Gauge({
      registers: [registry],
      name,
      help,
      async collect() {
        const found = await value().catch(() => undefined);
        if (found === undefined) this.remove();
        else this.set(found);
      },
    });
  };
  register('data_directory_free_bytes', 'What the service may still write on the disk of DATA_DIR.', async () => {
    const { bavail, bsize } = await statfs(DATA_DIR);
    return bavail * bsize;
  });
  register('data_directory_size_bytes', 'Size of the disk of DATA_DIR.', async () => {
    const { blocks, bsize } = await statfs(DATA_DIR);
    return blocks * bsize;
  });
  if (EVENTSTORE_URL === undefined)
    register('event_log_bytes', 'Size of the embedded event log with its write-ahead log.', async () => {
      const sizes = LOG_FILES.map((name) =>
        stat(join(DATA_DIR, name)).then(
          ({ size }) => size,
          () => 0,
        ),
      );
      return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    });
  register(
    'backup_last_timestamp_seconds',
    'When "dynamic-assets backup" was last done with this DATA_DIR, in seconds since 1970; 0 where it never was.',
    async () => ((await lastBackupAt(DATA_DIR)) ?? 0) / 1000,
  );
  new Gauge({
    registers: [registry],
    name: 'backup_age_seconds',
    help: 'How long ago "dynamic-assets backup" was last done with this DATA_DIR; missing where it never was.',
    async collect() {
      const at = await lastBackupAt(DATA_DIR);
      if (at === undefined) this.remove();
      else this.set(Math.max(0, (Date.now() - at) / 1000));
    },
  });
}

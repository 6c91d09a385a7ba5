/** Copies the embedded log as of one moment, while it is in use. */
import { open, rename } from 'node:fs/promises';
import { openSqlite } from '../../openSqlite.js';

/**
 * The complete copy is on the disk, or there is none.
 * @param target must not exist
 * @throws Error if there is no log, or the target cannot be written
 */
export async function backUpSqliteEventStore(file: string, target: string): Promise<void> {
  const draft = `${target}.part`;
  const db = openSqlite(file, { readonly: true, fileMustExist: true });
  try {
    db.prepare('VACUUM INTO ?').run(draft);
  } finally {
    db.close();
  }
  const handle = await open(draft, 'r+');
  await handle.chmod(0o600);
  await handle.sync();
  await handle.close();
  await rename(draft, target);
}

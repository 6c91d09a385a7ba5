/** A copy of the embedded log as of one moment, made while it is written to. */
import { open, rename } from 'node:fs/promises';
import { openSqlite } from '../../openSqlite.js';

/**
 * The copy is there whole, and on the disk, or not at all.
 * @param target must not exist
 * @throws Error when there is no log, or the target cannot be written
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

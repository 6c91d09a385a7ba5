/** Files that are written as a whole, and the codes of errors. */
import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** The code of an error of the system or of a driver, such as `ENOENT`; undefined if it has none. The class does not tell. */
export const errorCode = (error: unknown): unknown => Object(error).code;

/** What an error says; whatever else was thrown, as text. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * Writes a file as a whole: after a crash it is there completely, or as it was.
 * @param place `link` leaves a file that is there
 * @param drafts the directory in which it is prepared
 */
export async function writeWhole(
  file: string,
  content: Parameters<typeof writeFile>[1],
  place = rename,
  drafts = dirname(file),
): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const draft = join(drafts, `${basename(file)}.${randomUUID()}.part`);
  try {
    await writeFile(draft, content, { flag: 'wx', mode: 0o600, flush: true });
    await place(draft, file);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

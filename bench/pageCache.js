/** What the system keeps of files in memory. */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Asks the system to forget a file's pages, which needs no rights over others' files. @returns whether it has a way to */
function dropPages(file) {
  try {
    execFileSync('dd', [`of=${file}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** The same for the rows of all tenants of a data directory. */
export function dropRows(directory) {
  const rows = join(directory, 'rows');
  const files = readdirSync(rows).filter((name) => /^[^.]+\.[^.]+\.db(-wal)?$/.test(name));
  if (files.length === 0) throw new Error(`There are no rows in ${directory}.`);
  return files.every((name) => dropPages(join(rows, name)));
}

import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The file of a command on PATH; undefined when there is none. */
export const onPath = (command: string): string | undefined =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .map((directory) => join(directory, command))
    .find((file) => existsSync(file));

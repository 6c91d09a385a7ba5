/** What this program is: its version, and the roles that a process of it may take. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

const packageJson = z.object({ version: z.string() });

/** The version in package.json. */
export const version = (): string =>
  packageJson.parse(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))).version;

/** What a process does: all of it, unless `start --role` names some. */
export const ROLES = ['api', 'projector', 'webhooks'] as const;
export type Role = (typeof ROLES)[number];

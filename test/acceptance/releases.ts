/** Two releases of the service: the one that is built here, and one with other standard tables (newerRelease.mjs). */
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AssetRecord, Query, TenantClient } from './tenant.js';
import { UnexpectedAnswer } from './tenant.js';

/** What a list says as soon as it may be asked: all that is refused meanwhile is refused with "try again". */
export async function readListed(
  tenant: TenantClient,
  query: Query,
  table = 'dyn_item',
): Promise<readonly AssetRecord[]> {
  for (;;) {
    const answer = await tenant.getList(table, query);
    if (answer.status === 200) return (answer.body as { data: AssetRecord[] }).data;
    if (answer.status !== 503) throw new UnexpectedAnswer(answer);
  }
}

const preload = pathToFileURL(resolve('test/acceptance/newerRelease.mjs')).href;

/** Settings of a service that is the newer release once `becomeNewer` was called, from its next start on. */
export const RELEASES = { NODE_OPTIONS: `--import ${preload}` };

export const becomeNewer = (dataDir: string): Promise<void> => writeFile(join(dataDir, 'newer-release'), '');

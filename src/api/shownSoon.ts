import { tenantEnd } from '../commands/catchUp.js';
import { withTimeout } from '../supervision/waiting.js';
import type { Api } from './deps.js';

const SHOWN_WITHIN_MS = 500;

/** Waits a moment for what is in the log already. While the log is away a page has what was read from it before. */
export async function untilShown({ commands, progress }: Api, tenant: string): Promise<void> {
  const shown = async () => {
    const end = await tenantEnd(commands, tenant);
    return progress.waitFor(tenant, end, SHOWN_WITHIN_MS);
  };
  // What the rows' engine throws, the reading of the page throws again.
  await withTimeout(SHOWN_WITHIN_MS, 'The log did not answer in time.', shown()).catch(() => undefined);
}

/** Clean-up (spec §4.8): deletes every record of a table that the last synchronisation did not carry. */
import { z } from 'zod';
import { cleanUp } from '../../domain/referenceTable/decide.js';
import type { Position } from '../../ports/eventStore.js';
import { parseBody } from '../body.js';
import type { Caller, Commands } from '../context.js';
import { referenceTypeOf, tenantOf } from '../tables.js';
import { tableWriterOf } from './tableWriters.js';

export const cleanUpBody = z.strictObject({
  batch_id: z.string('must be a string.').min(1, 'must not be empty.').max(255, 'must be at most 255 characters.'),
});

/**
 * @param body `{ batch_id }`
 * @throws ValidationError without a batch id; NotSupportedError on Master Data
 */
export async function cleanUpTable(
  commands: Commands,
  caller: Caller,
  table: string,
  body: unknown,
  options: { readonly dryRun?: boolean } = {},
): Promise<{ readonly position: Position; readonly deleted: number }> {
  const assetType = referenceTypeOf(tenantOf(commands, caller.tenant), table, 'cleaned up');
  const { batch_id: batchId } = parseBody(cleanUpBody, body);
  const { position, count } = await tableWriterOf(commands).cleanUp(caller, assetType, batchId, (records) =>
    records === 0 || options.dryRun === true ? [] : [cleanUp(batchId, records)],
  );
  return { position, deleted: count };
}

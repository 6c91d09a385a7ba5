/** Clean-up (spec §4.8): deletes every record of a table that the last synchronisation did not carry. */
import { z } from 'zod';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { cleanUp } from '../../domain/referenceTable/decide.js';
import type { Position } from '../../ports/eventStore.js';
import { parseBody } from '../body.js';
import type { Caller } from '../context.js';
import { refuseMasterData } from '../tables.js';
import { type TableCommands, tableWriterOf } from './tableWriter.js';

export const cleanUpBody = z.strictObject({
  batch_id: z.string('must be a string.').min(1, 'must not be empty.').max(255, 'must be at most 255 characters.'),
});

/**
 * @param body `{ batch_id }`
 * @throws ValidationError without a batch id; NotSupportedError on Master Data
 */
export function cleanUpTable(
  commands: TableCommands,
  caller: Caller,
  assetType: AssetType,
  body: unknown,
  options: { readonly dryRun?: boolean } = {},
): Promise<{ readonly position: Position; readonly deleted: number }> {
  refuseMasterData(assetType, 'cleaned up');
  const { batch_id: batchId } = parseBody(cleanUpBody, body);
  return tableWriterOf(commands).cleanUp(caller, assetType, batchId, (deleted) =>
    deleted === 0 || options.dryRun === true ? [] : [cleanUp(batchId, deleted)],
  );
}

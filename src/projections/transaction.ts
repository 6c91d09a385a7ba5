import type { Position } from '../ports/eventStore.js';
import type { ReadModelWriter } from '../ports/readModelWriter.js';

/**
 * Writes in one transaction: what `write` did is committed with the checkpoints it returns, or nothing is.
 * @throws whatever `write` or the engine throws
 */
export async function inTransaction(
  writer: Pick<ReadModelWriter, 'begin' | 'commit' | 'rollback'>,
  write: () => Promise<ReadonlyMap<string, Position>>,
): Promise<void> {
  await writer.begin();
  try {
    await writer.commit(await write());
  } catch (error) {
    await writer.rollback();
    throw error;
  }
}

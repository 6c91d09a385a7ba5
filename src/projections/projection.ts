/** What a projection is: it evolves a read model by the events of the log, one at a time. */
import type { Tenant } from '../domain/identity/directory.js';
import type { Position, RecordedEvent } from '../ports/eventStore.js';
import type { ReadModelWriter, RebuildScope } from '../ports/readModelWriter.js';

/** The part of the read models that projections write to; a rebuild gives them a hidden copy of it. */
export type ProjectionTarget = Pick<
  ReadModelWriter,
  'defineTable' | 'applyToTable' | 'addHistory' | 'delivery' | 'putDelivery'
>;

export type Projection = {
  readonly name: RebuildScope['projection'];
  /** Raised when it writes differently than before: the runner then rebuilds it from the log. */
  readonly version: number;
  readonly streamPrefixes: readonly string[];
  /**
   * Applies one event. `tenant` is the event's tenant as of this event (asset types are what counts).
   * Must have no effect besides `target`: no calls, no time, no messages.
   */
  apply(event: RecordedEvent, tenant: Tenant, target: ProjectionTarget): Promise<void>;
};

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

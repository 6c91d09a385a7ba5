import type { EventStore, Position } from '../ports/eventStore.js';
import type { ReadModelWriter } from '../ports/readModelWriter.js';
import { deliveriesProjection } from './deliveries.js';
import { orderHistoryProjection } from './orderHistory.js';
import type { Projection } from './projection.js';
import { recordsProjection } from './records.js';

/** Every projection the service keeps. */
export const projections: readonly Projection[] = [recordsProjection, orderHistoryProjection, deliveriesProjection];

export type ProjectionStatus = {
  readonly name: string;
  readonly position: Position;
  readonly head: Position;
  /** Positions between it and the head of the log. */
  readonly behind: number;
};

/** How far each projection is. */
export async function projectionStatus(deps: {
  readonly eventStore: Pick<EventStore, 'head'>;
  readonly writer: Pick<ReadModelWriter, 'checkpoint'>;
}): Promise<readonly ProjectionStatus[]> {
  const head = await deps.eventStore.head();
  return Promise.all(
    projections.map(async ({ name }) => {
      const position = await deps.writer.checkpoint(name);
      return { name, position, head, behind: Math.max(0, head - position) };
    }),
  );
}

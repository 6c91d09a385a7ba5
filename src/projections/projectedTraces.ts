/** What the projector tells of the traces that the events of a slice belong to: whoever has a tracer makes spans of it. */
import type { EventSlice } from '../ports/eventStore.js';
import type { Parked } from '../ports/readModels.js';
import { countByTrace, isTraced } from '../ports/tracing.js';

/** One commit of the read models. May be sent to another thread. */
export type ProjectedTraces = {
  /** How many of its events were made in each span; at least one. */
  readonly traces: ReadonlyMap<string, number>;
  /** Those of them with an event that cannot be applied. */
  readonly parked: ReadonlySet<string>;
  /** Events of the commit, with those of no trace. */
  readonly events: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** Name of the error that undid the commit; it is tried again. */
  readonly failure?: string;
};

/** @param project one commit; returns what it has parked */
export async function tellTraces(
  tell: ((projected: ProjectedTraces) => void) | undefined,
  { events }: EventSlice,
  project: () => Promise<readonly Parked[]>,
): Promise<readonly Parked[]> {
  if (tell === undefined) return project();
  const startedAt = Date.now();
  const traces = countByTrace(events.filter((event) => isTraced(event, startedAt)));
  if (traces.size === 0) return project();
  const clock = performance.now();
  const endedAt = (): number => startedAt + performance.now() - clock;
  const told = { traces, events: events.length, startedAt };
  try {
    const parked = await project();
    const stopped = new Set(parked.map(({ eventId }) => eventId));
    const stoppedTraces = countByTrace(events.filter(({ id }) => stopped.has(id)));
    tell({ ...told, parked: new Set(stoppedTraces.keys()), endedAt: endedAt() });
    return parked;
  } catch (error) {
    tell({ ...told, parked: new Set(), endedAt: endedAt(), failure: error instanceof Error ? error.name : 'unknown' });
    throw error;
  }
}

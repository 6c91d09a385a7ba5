/** Reports the traces that the events of a commit belong to; the main thread, which has the tracer, makes spans of it. */
import type { RecordedEvent } from '../ports/eventStore.js';
import type { Parked } from '../ports/projectionProgress.js';
import { countByTrace, isTraced } from '../ports/tracedEvents.js';

/** One commit of the read models. Can be sent to another thread. */
export type ProjectedTraces = {
  /** How many of its events were made in each span, by `traceparent`; at least one. */
  readonly traces: ReadonlyMap<string, number>;
  /** Traces with an event that cannot be applied. */
  readonly parked: ReadonlySet<string>;
  /** All events of the commit, traced or not. */
  readonly events: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** Name of the error that rolled the commit back; it is retried. */
  readonly failure?: string;
};

/** The events and parked parts of a commit. */
export type CommitContent = { readonly events: readonly RecordedEvent[]; readonly parked: readonly Parked[] };

/**
 * @param waiting events that may be part of the commit
 * @param project one commit
 */
export async function reportTraces<Result extends CommitContent>(
  report: ((projected: ProjectedTraces) => void) | undefined,
  waiting: () => readonly RecordedEvent[],
  project: () => Promise<Result>,
): Promise<Result> {
  if (report === undefined) return project();
  const startedAt = Date.now();
  const clock = performance.now();
  const reportOf = (events: readonly RecordedEvent[], parkedIds: ReadonlySet<string> = new Set()) => ({
    traces: countByTrace(events.filter((event) => isTraced(event, startedAt))),
    parked: new Set(countByTrace(events.filter(({ id }) => parkedIds.has(id))).keys()),
    events: events.length,
    startedAt,
    endedAt: startedAt + performance.now() - clock,
  });
  try {
    const projected = await project();
    const made = reportOf(projected.events, new Set(projected.parked.map(({ eventId }) => eventId)));
    if (made.traces.size > 0) report(made);
    return projected;
  } catch (error) {
    const made = reportOf(waiting());
    if (made.traces.size > 0) report({ ...made, failure: error instanceof Error ? error.name : 'unknown' });
    throw error;
  }
}

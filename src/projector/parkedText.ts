/** Sentences about a parked tenant. */
import type { Parked } from '../ports/readModels.js';

/** The end of a sentence, for callers. The error itself is for operators only. */
export const notApplied = ({ eventType, position }: Parked): string =>
  `the event ${eventType} at position ${position} could not be applied. Nothing is lost; an operator has to act.`;

/** For operators: what could not be applied, and since when. */
export const parkedSentence = ({ tenant, projection, since, eventType, position, eventId }: Parked): string =>
  `${tenant} is parked in ${projection} since ${since}: ${eventType} at position ${position} (${eventId}) could not be applied.`;

/** The command that continues the projection. */
export const afterFix = ({ tenant, projection }: Parked): string =>
  `After a fix: dynamic-assets projections retry --tenant ${tenant} --projection ${projection}`;

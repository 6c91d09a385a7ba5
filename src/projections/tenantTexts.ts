/** What is said of tenants whose rows are not shown, or lack something. */
import type { Parked, ParkedTenant } from '../ports/rowStore.js';

/** The end of a sentence, for callers. The error itself is for operators only. */
export const notApplied = ({ eventType, position }: Pick<Parked, 'eventType' | 'position'>): string =>
  `the event ${eventType} at position ${position} could not be applied. Nothing is lost; an operator has to act.`;

/** For operators: what could not be applied, and since when. */
export const parkedSentence = ({ tenant, since, eventType, position, eventId }: ParkedTenant): string =>
  `${tenant} is parked since ${since}: ${eventType} at position ${position} (${eventId}) could not be applied.`;

/** The command that continues. */
export const afterFix = (tenant: string): string => `After a fix: dynamic-assets projections retry --tenant ${tenant}`;

/** A sentence; undefined if no tenant is parked. */
export const parkedText = ({ length }: readonly ParkedTenant[]): string | undefined =>
  length === 0 ? undefined : `${count(length)} parked. "dynamic-assets projections list" says why.`;

/** A sentence; undefined if no tenant is behind. */
export function behindText(behind: readonly { readonly seconds: number }[]): string | undefined {
  if (behind.length === 0) return undefined;
  const seconds = Math.max(...behind.map((each) => each.seconds));
  return `${count(behind.length)} behind what was written, by up to ${seconds} seconds.`;
}

const count = (tenants: number): string => (tenants === 1 ? '1 tenant is' : `${tenants} tenants are`);

/**
 * The states of a tenant's part of a projection:
 *
 *     filling ───────────── all stored events applied ──────────────▶ running
 *     running ◀──▶ behind   the oldest unapplied event is a second old, or is applied
 *     running, behind ───── an event cannot be applied ─────────────▶ parked
 *     parked ────────────── an operator asks for it ────────────────▶ retrying
 *     retrying ──────────── the event fails again ──────────────────▶ parked
 *     retrying ──────────── caught up with the other tenants ───────▶ running
 *     parked ────────────── a rebuild, or the tenant is deleted ────▶ running
 *     any ───────────────── a new version, or another log ──────────▶ filling
 *
 * Filling concerns all tenants of a projection; the other states are a tenant's own. Reads are answered while a tenant is
 * running, and while it is behind by no more than READ_MAX_STALENESS_SECONDS.
 */
import type { Position } from '../ports/eventStore.js';
import type { Parked } from '../ports/projectionProgress.js';
import type { RebuildScope } from '../ports/readModelWriter.js';
import type { TenantsBehind } from './lag.js';

export type TenantState =
  | { readonly kind: 'running' }
  /** `seconds`: the age of the oldest unapplied event. */
  | { readonly kind: 'behind'; readonly seconds: number }
  /** The projection is at `position`, and is complete at `of`. */
  | { readonly kind: 'filling'; readonly position: Position; readonly of: Position }
  | { readonly kind: 'parked' | 'retrying'; readonly parked: Parked };

export const RUNNING: TenantState = { kind: 'running' };

export const parkedState = (parked: Parked): TenantState => ({
  kind: parked.retryAsked ? 'retrying' : 'parked',
  parked,
});

const SHOWN_AS = {
  records: 'The records of this tenant are',
  order_history: 'The history of orders of this tenant is',
  deliveries: 'The delivery log of this tenant is',
  activity: 'The activity of this tenant is',
} as const satisfies { readonly [projection in RebuildScope['projection']]: string };

/** Why reads are refused in this state, as a sentence for callers; undefined if they are answered. */
export function refusalIn(
  state: TenantState,
  projection: RebuildScope['projection'],
  maxStalenessSeconds: number,
): string | undefined {
  switch (state.kind) {
    case 'running':
      return undefined;
    case 'behind':
      return state.seconds <= maxStalenessSeconds
        ? undefined
        : `The read models of this tenant are ${state.seconds} seconds behind what was written, more than the ${maxStalenessSeconds} that are allowed.`;
    case 'filling':
      return `The read model ${projection} is being filled: it is at position ${state.position} of ${state.of}.`;
    case 'parked':
    case 'retrying':
      return `${SHOWN_AS[projection]} not shown: ${notApplied(state.parked)}`;
  }
}

/** The end of a sentence, for callers. The error itself is for operators only. */
export const notApplied = ({ eventType, position }: Parked): string =>
  `the event ${eventType} at position ${position} could not be applied. Nothing is lost; an operator has to act.`;

/** For operators: what could not be applied, and since when. */
export const parkedSentence = ({ tenant, projection, since, eventType, position, eventId }: Parked): string =>
  `${tenant} is parked in ${projection} since ${since}: ${eventType} at position ${position} (${eventId}) could not be applied.`;

/** The command that continues the projection. */
export const afterFix = ({ tenant, projection }: Parked): string =>
  `After a fix: dynamic-assets projections retry --tenant ${tenant} --projection ${projection}`;

/** Most tenants named. */
const MAX_NAMED = 10;

/** A sentence; undefined if no tenant is parked. */
export function parkedText(parked: readonly Parked[], isNamed: boolean): string | undefined {
  if (parked.length === 0) return undefined;
  const tenants = [...new Set(parked.map(({ tenant }) => tenant))];
  const withPlaces = (tenant: string): string => {
    const own = parked.filter((each) => each.tenant === tenant);
    return `${tenant} (${own.map(({ projection, position }) => `${projection} at position ${position}`).join(', ')})`;
  };
  const names = isNamed ? namesText(tenants, withPlaces) : '';
  return `${count(tenants.length)} parked${names}. "dynamic-assets projections list" says why.`;
}

/** A sentence; undefined if no tenant is behind. `seconds` is the age of the oldest unapplied event. */
export function behindText(
  { names: tenants, isAll, seconds }: TenantsBehind & { readonly seconds?: number },
  isNamed: boolean,
): string | undefined {
  if (tenants.length === 0) return undefined;
  const age = seconds === undefined ? '' : `, by up to ${seconds} seconds`;
  const atLeast = isAll ? '' : 'At least ';
  const names = isNamed ? namesText(tenants, (tenant) => tenant) : '';
  return `${atLeast}${count(tenants.length)} behind what was written${age}${names}.`;
}

const count = (tenants: number): string => (tenants === 1 ? '1 tenant is' : `${tenants} tenants are`);

function namesText(tenants: readonly string[], shown: (tenant: string) => string): string {
  const more = tenants.length > MAX_NAMED ? `, and ${tenants.length - MAX_NAMED} more` : '';
  return `: ${tenants.slice(0, MAX_NAMED).map(shown).join(', ')}${more}`;
}

/**
 * Sentences about tenants that are parked or behind: their number for anybody, and some names for callers who may know
 * the tenants.
 */
import type { Parked } from '../ports/readModels.js';
import type { TenantsBehind } from '../projector/lag.js';

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

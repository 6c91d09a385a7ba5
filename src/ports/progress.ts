/** How far the rows of tenants are, for those that read them (`projections/progress.ts`). */
import type { Position } from './eventStore.js';
import type { Parked } from './rowStore.js';

export type TenantBehind = { readonly tenant: string; readonly seconds: number };

export type ParkedTenant = Parked & { readonly tenant: string };

export interface RowProgress {
  /** Whether this process follows the log for all tenants. If not, only a tenant's own events can be waited for. */
  readonly isTold: boolean;
  /** True as soon as the tenant's rows show the position; false after `timeoutMs`, and at once while it is parked. */
  waitFor(tenant: string, position: Position, timeoutMs: number): Promise<boolean>;
  /** Why the tenant's rows are not shown now, for callers: they are made again, parked, or too old. Undefined: they are shown. */
  refusal(tenant: string): string | undefined;
  /** Age of the tenant's oldest event that its rows are known to lack, in whole seconds; undefined: they lack none. */
  staleness(tenant: string): number | undefined;
  /** Tenants that lack an event of more than a second ago, the oldest first; a part of them, if there are many. */
  behind(): readonly TenantBehind[];
  parked(): readonly ParkedTenant[];
  filling(): ReadonlySet<string>;
  /** As far as the log was read for all tenants. */
  readonly position: Position;
}

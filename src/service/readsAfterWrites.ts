/** Whether writes are answered before the read models show them, and which reads wait for which of them. */
import type { TenantDirectory } from '../commands/context.js';
import { type Config, ROLES, type Role } from '../config.js';
import type { ReadModels } from '../ports/readSide.js';
import { ORDERS, UnshownWrites } from '../projections/unshownWrites.js';
import type { Gate } from './readLanes.js';

export type ReadsAfterWrites = {
  readonly readModels: ReadModels;
  /** Undefined where other processes read what this one has answered, or project it: a write's answer waits itself. */
  readonly unshown: UnshownWrites | undefined;
};

type Settings = Pick<Config, 'MONGODB_URL' | 'WRITE_WAIT_MS'>;

export function readsAfterWrites(
  { MONGODB_URL, WRITE_WAIT_MS }: Settings,
  roles: ReadonlySet<Role>,
  gate: Pick<Gate, 'isCurrent'>,
  readModels: ReadModels,
  directory: Pick<TenantDirectory, 'tenant'>,
): ReadsAfterWrites {
  if (MONGODB_URL !== undefined || roles.size < ROLES.length) return { readModels, unshown: undefined };
  const unshown = new UnshownWrites(WRITE_WAIT_MS, (tenant) => gate.isCurrent(tenant));
  const partOf = (tenant: string, table: string): string =>
    directory.tenant(tenant)?.assetTypes.get(table)?.role === 'reference' ? table : ORDERS;
  return { readModels: unshown.guard(readModels, partOf), unshown };
}

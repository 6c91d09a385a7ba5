/** Whether writes are answered before the read models show them, and which reads wait for which of them. */
import type { TenantDirectory } from '../commands/context.js';
import { type Config, ROLES, type Role } from '../config.js';
import type { ReadModels } from '../ports/readSide.js';
import type { Gate } from '../reading/laneReadModels.js';
import { ORDERS, PendingWrites, waitScopeOf } from '../reading/pendingWrites.js';

export type ReadsAfterWrites = {
  readonly readModels: ReadModels;
  /** Undefined where a write's answer waits itself. */
  readonly unshown: PendingWrites | undefined;
};

type Settings = Pick<Config, 'EVENTSTORE_URL' | 'MONGODB_URL' | 'WRITE_WAIT_MS'>;

/**
 * No other process reads what this one has answered, or projects it, and what was written is soon heard of: a server of the
 * log may hang with it, and no read should. That there is none `directoryUse.ts` sees to.
 */
export const isAlone = (settings: Pick<Config, 'EVENTSTORE_URL' | 'MONGODB_URL'>, roles: ReadonlySet<Role>): boolean =>
  settings.EVENTSTORE_URL === undefined && settings.MONGODB_URL === undefined && roles.size === ROLES.length;

export function readsAfterWrites(
  settings: Settings,
  roles: ReadonlySet<Role>,
  gate: Pick<Gate, 'isCurrent'>,
  readModels: ReadModels,
  directory: Pick<TenantDirectory, 'tenant'>,
): ReadsAfterWrites {
  if (!isAlone(settings, roles)) return { readModels, unshown: undefined };
  const unshown = new PendingWrites(settings.WRITE_WAIT_MS, (tenant) => gate.isCurrent(tenant));
  const partOfTable = (tenant: string, table: string): string => {
    const assetType = directory.tenant(tenant)?.assetTypes.get(table);
    return assetType === undefined ? ORDERS : waitScopeOf(assetType);
  };
  return { readModels: unshown.guard(readModels, partOfTable), unshown };
}

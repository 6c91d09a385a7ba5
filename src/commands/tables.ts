/** Finds the tenant, table or record that a request names. */
import type { AssetType } from '../domain/assetTypes/assetType.js';
import type { Tenant } from '../domain/identity/directory.js';
import { type Commands, NotFoundError, NotSupportedError } from './context.js';

/** @throws NotFoundError */
export function tenantOf(commands: Pick<Commands, 'directory'>, name: string): Tenant {
  const tenant = commands.directory.tenant(name);
  if (tenant === undefined) throw new NotFoundError(`There is no tenant ${name}.`);
  return tenant;
}

/** @throws NotFoundError */
export function assetTypeOf(tenant: Pick<Tenant, 'assetTypes'>, table: string): AssetType {
  const assetType = tenant.assetTypes.get(table);
  if (assetType === undefined) throw new NotFoundError(`There is no asset ${table}.`);
  return assetType;
}

/** @throws NotSupportedError for Master Data (spec §4.7 rule 5, §4.8) */
export function refuseMasterData({ name, supportingData }: AssetType, operation: string): void {
  if (!supportingData) {
    throw new NotSupportedError(
      `${name} is Master Data and cannot be ${operation}: this is only safe on reference data.`,
    );
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isUuid = (text: string): boolean => UUID.test(text);

/** The id in its stored form. @throws NotFoundError when it is no UUID */
export function recordId(table: string, id: string): string {
  if (!isUuid(id)) throw new NotFoundError(`There is no record ${id} in ${table}.`);
  return id.toLowerCase();
}

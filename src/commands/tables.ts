/** Finds the tenant, table, record or other thing that a request names. */
import type { AssetType } from '../domain/assetTypes/assetType.js';
import { isUuid } from '../domain/assetTypes/fieldTypes.js';
import type { Tenant } from '../domain/identity/directory.js';
import { shownName } from '../domain/shownName.js';
import { type Commands, NotFoundError, NotSupportedError } from './context.js';

/** @throws NotFoundError */
export function tenantOf(commands: Pick<Commands, 'directory'>, name: string): Tenant {
  const tenant = commands.directory.tenant(name);
  if (tenant === undefined) throw new NotFoundError(`There is no tenant ${name}.`);
  return tenant;
}

/** The entry of this key. @param kind such as `user` @throws NotFoundError */
export function known<Key extends string | number, Entry>(
  all: ReadonlyMap<Key, Entry> | undefined,
  key: Key,
  kind: string,
): Entry {
  const entry = all?.get(key);
  if (entry === undefined) throw new NotFoundError(`There is no ${kind} ${key}.`);
  return entry;
}

/** @throws NotFoundError that says which tables there are */
export function assetTypeOf({ assetTypes }: Pick<Tenant, 'assetTypes'>, table: string): AssetType {
  const assetType = assetTypes.get(table);
  if (assetType === undefined)
    throw new NotFoundError(`There is no table ${shownName(table)}; there are ${[...assetTypes.keys()].join(', ')}.`);
  return assetType;
}

/** @throws NotSupportedError for Master Data (spec §4.7 rule 5, §4.8) */
export function refuseMasterData({ name, supportingData }: AssetType, done: 'cleaned up' | 'written by batch'): void {
  if (supportingData) return;
  const advice =
    'This operation is only safe on reference data. Write one record by POST …/assets, or PUT …/assets/{id}.';
  throw new NotSupportedError(`${name} is Master Data and cannot be ${done}.`, advice);
}

/** The id in its stored form. @throws NotFoundError when it is no UUID */
export function recordId(table: string, id: string): string {
  if (!isUuid(id)) throw unknownRecord({ name: table }, id);
  return id.toLowerCase();
}

export const unknownRecord = ({ name }: Pick<AssetType, 'name'>, id: string): NotFoundError =>
  new NotFoundError(`There is no record ${id} in ${name}.`);

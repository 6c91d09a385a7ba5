import type { Request } from 'express';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { scopeFor } from '../../domain/identity/scopes.js';
import type { TableRef } from '../../ports/readModels.js';
import { requireScope } from '../auth/bearer.js';
import { notFound } from '../errors.js';

/** A route parameter; '' cannot occur in a route that has it. */
export const pathParameter = (req: Request, name: 'table' | 'id'): string => {
  const value = req.params[name];
  return typeof value === 'string' ? value : '';
};

/** The asset type of the request's `{table}`. @throws HttpError 404 when the tenant has none of this name */
export function knownAsset(req: Request): AssetType {
  const table = pathParameter(req, 'table');
  const assetType = req.context.tenant.assetTypes.get(table);
  if (assetType === undefined) throw notFound(`There is no asset ${table}.`);
  return assetType;
}

/** The same, for a token that may read or write it. @throws HttpError 404, then 403 */
export function allowedAsset(req: Request, access: 'read' | 'write'): AssetType {
  const assetType = knownAsset(req);
  requireScope(req, scopeFor(access, assetType.supportingData));
  return assetType;
}

export const tableRef = (req: Request, assetType: AssetType): TableRef => ({
  tenant: req.context.tenant.name,
  table: assetType.name,
});

export const unknownRecord = (assetType: AssetType, id: string) =>
  notFound(`There is no record ${id} in ${assetType.name}.`);

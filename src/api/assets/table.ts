/** Paths of tables and records. */
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { type HttpError, notFound } from '../errors.js';
import type { PathParameter } from '../routes/operation.js';

export const ASSETS_PATH = '/api/v1/dynamic-assets/dyn';

export const unknownRecord = (assetType: AssetType, id: string): HttpError =>
  notFound(`There is no record ${id} in ${assetType.name}.`);

/** `:id` of a record. (`:table` is not a parameter in the document: each table has its own paths there.) */
export const RECORD_ID: PathParameter = {
  component: 'AssetId',
  name: 'asset_id',
  in: 'path',
  required: true,
  schema: { type: 'string', format: 'uuid' },
};

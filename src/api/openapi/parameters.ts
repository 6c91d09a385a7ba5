import { MAX_PAGE, PAGE_SIZES } from '../assets/listQuery.js';
import type { Parameter, Ref } from './types.js';

/** For `components.parameters`. */
export const parameters = {
  AssetId: { name: 'asset_id', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } },
  OrderId: { name: 'order_id', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } },
  Page: { name: 'page', in: 'query', schema: { type: 'integer', minimum: 1, maximum: MAX_PAGE, default: 1 } },
  PerPage: {
    name: 'perPage',
    in: 'query',
    description: 'Records on a page; any other value counts as 25.',
    schema: { type: 'integer', enum: PAGE_SIZES, default: 25 },
  },
  DryRun: {
    name: 'dry_run',
    in: 'query',
    description: 'true: checks and counts, and writes nothing.',
    schema: { type: 'boolean', default: false },
  },
} as const satisfies { readonly [name: string]: Parameter };

export const parameterRef = (name: keyof typeof parameters): Ref => ({ $ref: `#/components/parameters/${name}` });

/** A table of the tenant's own that has a field of each of the seven types (spec §2.1). */
import type { TenantClient } from './tenant.js';

export const EVERY_TYPE = 'dyn_every_type';

const field = (name: string, type: string, more: object = {}) => ({
  name,
  type,
  filterable: true,
  sortable: type !== 'LongText',
  ...more,
});

export async function addTableOfEveryType(tenant: TenantClient): Promise<void> {
  await tenant.platformData('POST', '/asset-types', {
    name: EVERY_TYPE,
    unique_field: 'code',
    fields: [
      field('code', 'String', { required: true }),
      field('title', 'String'),
      field('text', 'LongText'),
      field('count', 'Integer'),
      field('amount', 'Decimal'),
      field('day', 'Date'),
      field('moment', 'DateTime'),
      field('flag', 'Boolean'),
      field('short', 'String', { max_length: 5 }),
    ],
  });
}

/**
 * Makes a newer release of the service whose data directory (where it runs) has a file `newer-release`: one with other
 * standard tables. Loaded before the service's own code, in each of its threads: node --import newerRelease.mjs
 */
import { existsSync } from 'node:fs';
import { integer, string as text } from '../../dist/domain/assetTypes/define.js';
import { stockModel } from '../../dist/domain/assetTypes/stockModel.js';

/** With these changes of the table's fields, by name, and added ones behind the second. */
const changed = (table, changes, added) => {
  const [first, second, ...others] = table.fields.map((field) => ({ ...field, ...changes[field.name] }));
  return { ...table, fields: [first, second, ...added, ...others] };
};

const changes = {
  dyn_item: (table) =>
    changed(
      table,
      { product_id: { filterable: true, sortable: true }, name: { type: 'LongText' }, sku: { maxLength: 4000 } },
      [text('origin_country', { maxLength: 2 }), integer('shelf_life', { filterable: true, sortable: true })],
    ),
  dyn_stock_order: (table) => changed(table, {}, [text('route')]),
  dyn_unit_code: (table) => changed(table, {}, [text('family')]),
};

if (existsSync('newer-release')) {
  for (const [index, table] of stockModel.entries()) stockModel[index] = changes[table.name]?.(table) ?? table;
  const lane = stockModel.find(({ name }) => name === 'dyn_unit_code');
  stockModel.push({ ...lane, name: 'dyn_lane', label: 'Lanes' });
}

import { readFileSync } from 'node:fs';
import { standardTables } from '#app/domain/identity/tenantTables.js';

const dutch = JSON.parse(readFileSync('console/src/api/labels.nl.json', 'utf8'));

/** The console shows a reference by the name of what it leads to. */
const short = (label: string): string => label.replace(/ \(.*external id\)$| id$/, '');

test.each(['dyn_stock_order', 'dyn_transport_order'] as const)('%s: all labels are in Dutch as well', (model) => {
  const tables = [...standardTables(model).values()];
  const labels = tables.flatMap(({ label, fields }) => [label, ...fields.map((field) => field.label)]);
  expect(labels.length).toBeGreaterThan(50);
  expect(labels.filter((label) => !Object.hasOwn(dutch, label) && !Object.hasOwn(dutch, short(label)))).toEqual([]);
});

import { repeatOnProductionEngines } from './repeat.js';

// What is left out is decided before the read models are asked.
const BEFORE_ANY_ENGINE = ['assets', 'customization', 'dateTimes', 'lookAlikeKeys'];

// The server that the tests build reads the rows of all tenants for each list, so what makes many rows comes last.
const WITH_FEW_ROWS = [
  '../property/writtenValues',
  'tables/fieldTypes',
  'tables/query',
  'tables/records',
  'tables/requestHeaders',
];

repeatOnProductionEngines(
  [...WITH_FEW_ROWS.map((name) => `${name}.test.ts`), 'tables'],
  BEFORE_ANY_ENGINE.map((name) => `tables/${name}.test.ts`),
);

import { repeatOnProductionEngines } from './repeat.js';

// What is left out is decided before the read models are asked.
const BEFORE_ANY_ENGINE = ['assets', 'customization', 'dateTimes', 'lookAlikeKeys'];

repeatOnProductionEngines(
  ['../property/writtenValues.test.ts', 'tables'],
  BEFORE_ANY_ENGINE.map((name) => `tables/${name}.test.ts`),
);

import { repeatOnProductionEngines } from './repeat.js';

// What is left out is decided before a broker or a read model is asked.
const BEFORE_ANY_ENGINE = ['clock', 'rotation', 'sentBody', 'settings'];

repeatOnProductionEngines(
  ['webhooks'],
  BEFORE_ANY_ENGINE.map((name) => `webhooks/${name}.test.ts`),
);

import { repeatOnProductionEngines } from './repeat.js';

// The directory in the process decides on access: it is the same on all engines of the read models and the broker.
const BEFORE_ANY_ENGINE = [
  ...['accepted', 'guards', 'hosts', 'rateLimits', 'refusals'],
  ...['serviceSettings', 'session', 'settings', 'tokens'],
];

// In one file, since each file starts engines of its own.
repeatOnProductionEngines(
  ['access', 'orders', 'traces'],
  BEFORE_ANY_ENGINE.map((name) => `access/${name}.test.ts`),
);

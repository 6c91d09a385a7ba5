/** Two processes of each role on the production engines, which share the tenants' rows. */
import { ENGINE_START_MS } from '../engines/mongodb.js';
import { describeProductionEngines, startProductionEngines } from '../engines/productionEngines.js';
import { scaled } from '../engines/timeScale.js';
import { twoOfEachRole } from '../faults/twoOfEachRole.js';

/** A projector that has been silent for 5 s is gone, and the other one takes its tenants. The rest is for a busy machine. */
const TAKE_OVER_MS = scaled(9_000);

describeProductionEngines(() =>
  twoOfEachRole(startProductionEngines, { projectors: 2, takeOverMs: TAKE_OVER_MS, startMs: ENGINE_START_MS }),
);

/** Two processes of each role on the production engines. */
import { ENGINE_START_MS } from '../engines/mongodb.js';
import { describeProductionEngines, startProductionEngines } from '../engines/productionEngines.js';
import { twoOfEachRole } from './twoOfEachRole.js';

/** A projector's lease lasts 5 s; the other asks for it each half second. The rest is for a busy machine. */
const TAKE_OVER_MS = 9_000;

describeProductionEngines(() =>
  twoOfEachRole(startProductionEngines, { takeOverMs: TAKE_OVER_MS, startMs: ENGINE_START_MS }),
);

/** Two processes of each role on the embedded engines. */
import { scaled } from '../engines/timeScale.js';
import { twoOfEachRole } from './twoOfEachRole.js';

// Both projectors are at work, so there is nothing to take over.
twoOfEachRole(async () => ({ env: {}, dispose: async () => undefined }), {
  projectors: 1,
  takeOverMs: scaled(10_000),
  startMs: scaled(60_000),
});

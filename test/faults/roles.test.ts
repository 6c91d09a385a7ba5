/** Two processes of each role on the embedded engines. */
import { twoOfEachRole } from './twoOfEachRole.js';

// Both projectors are at work, so there is nothing to take over.
twoOfEachRole(async () => ({ env: {}, dispose: async () => undefined }), {
  projectors: 1,
  takeOverMs: 10_000,
  startMs: 60_000,
});

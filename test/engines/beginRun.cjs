/** Before the first test of a run: a directory for what its suites share (sharedServer.ts). */
const { mkdtempSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

module.exports = () => {
  process.env.TEST_RUN = mkdtempSync(join(tmpdir(), 'test-run-'));
};

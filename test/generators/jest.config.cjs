/** What needs tools that `npm test` does without; .ci/run installs them (install.sh) and names their directory in GENERATORS. */
const { projects, testTimeout } = require('../../jest.config.cjs');

const service = projects.find(({ displayName }) => displayName === 'service');

module.exports = {
  ...service,
  displayName: 'generators',
  rootDir: '../..',
  testMatch: ['<rootDir>/test/generators/*.check.ts'],
  testTimeout,
  maxWorkers: 1,
};

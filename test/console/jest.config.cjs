/** `npm run test:console`: each persona's day in Chromium (Debian: `apt-get install chromium`), over the built service. */
const { projects, testTimeout } = require('../../jest.config.cjs');

const service = projects.find(({ displayName }) => displayName === 'service');

module.exports = {
  ...service,
  displayName: 'console',
  rootDir: '../..',
  testMatch: ['<rootDir>/test/console/*.check.ts'],
  testTimeout,
  maxWorkers: 1,
};

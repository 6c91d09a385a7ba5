/** `npm run test:crowds`: hundreds of costly requests at once, and what others notice. It needs the machine to itself. */
const { resolve } = require('node:path');
const { projects, ...shared } = require('../../jest.config.cjs');

const rootDir = resolve(__dirname, '../..');
const service = projects.find(({ displayName }) => displayName === 'service');

module.exports = {
  ...shared,
  maxWorkers: 1,
  rootDir,
  projects: [
    {
      ...service,
      displayName: 'crowds',
      rootDir,
      testPathIgnorePatterns: ['/node_modules/'],
      testMatch: ['<rootDir>/test/crowds/*.check.ts'],
    },
  ],
};

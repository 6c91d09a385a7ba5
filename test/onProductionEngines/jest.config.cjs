/**
 * `npm run test:engines`: tests of `npm test` once more, with MongoDB and RabbitMQ in place of the embedded engines, processes
 * that are killed while they use them, and outages that last a minute.
 */
const { resolve } = require('node:path');
const { projects, ...shared } = require('../../jest.config.cjs');

const rootDir = resolve(__dirname, '../..');
const service = projects.find(({ displayName }) => displayName === 'service');
// The workers inherit it: see repetition.ts.
process.env.REPEATED_ON_PRODUCTION_ENGINES = 'yes';

module.exports = {
  ...shared,
  // All of them work: FerretDB, which stands in for MongoDB, most of all.
  maxWorkers: 3,
  rootDir,
  projects: [
    {
      ...service,
      displayName: 'engines',
      rootDir,
      testPathIgnorePatterns: ['/node_modules/'],
      testMatch: [
        'onProductionEngines/*',
        // Each registers its tests of the embedded engines in `npm test`, and those of the others here.
        'acceptance/erasure',
        'faults/{deliveries,parked,putBack}',
        'outages/eventStoreDb',
        'projections/{parked,poison}',
        'property/writtenValues',
      ].map((file) => `<rootDir>/test/${file}.test.ts`),
    },
  ],
};

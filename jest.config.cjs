/**
 * The tests, by the question they answer (CONTRIBUTING.md says when to run which):
 *
 *     npm test              Does it work?          unit and service: minutes, with nothing but Node.
 *     npm run test:all      Is it ready to ship?   All others too, but crowds; they need engines, tools and a browser.
 *     npm run test:long     Before a release, by hand: the same faults by the hundred, long fuzzing, and crowds.
 *
 * Unit tests try one part alone, over src/, so that nothing has to be built. All others run over the built JavaScript in dist/:
 * what is tested is what ships.
 */
const { existsSync } = require('node:fs');

const shared = {
  rootDir: __dirname,
  testEnvironment: 'node',
  transform: {
    '^.+\\.[jt]s$': ['@swc/jest', { module: { type: 'commonjs' }, jsc: { target: 'es2023' }, sourceMaps: 'inline' }],
  },
  // These packages ship ES modules only.
  transformIgnorePatterns: ['/node_modules/(?!(uuid|p-queue|p-timeout|eventemitter3)/)'],
  modulePathIgnorePatterns: ['<rootDir>/data/'],
};
// Files name each other as the compiler wants it, with .js.
const relativeImports = { '^(\\.{1,2}/.*)\\.js$': '$1' };

/** @param files patterns below test/ @param except expressions for paths that they match and that are left out */
const overBuilt = (displayName, files, except = [], more = {}) => ({
  ...shared,
  displayName,
  testMatch: files.map((file) => `<rootDir>/test/${file}.test.ts`),
  testPathIgnorePatterns: ['/node_modules/', ...except],
  moduleNameMapper: relativeImports,
  globalSetup: '<rootDir>/test/engines/beginRun.cjs',
  globalTeardown: '<rootDir>/test/engines/endRun.cjs',
  setupFilesAfterEnv: displayName === 'service' ? [] : ['<rootDir>/test/engines/patient.cjs'],
  ...more,
});

/** What `npm test` has of folders that are otherwise for `test:all`. */
const QUICK = ['faults/kill', 'projections/follower', 'cli/start', 'cli/backup', 'cli/restore'];
/** What it does not have of its own folders, since it takes an engine that has to be installed. */
const ON_ENGINES = ['\\.(mongodb|rabbitmq|eventstoredb)\\.test\\.'];
const except = QUICK.map((file) => `/${file}\\.`);

/** Why the tests of a project cannot run here, by project. REQUIRE_ENGINES names those that must. */
const missing = {
  console: existsSync(process.env.CHROMIUM ?? '/usr/bin/chromium') ? undefined : 'there is no Chromium',
  generators: process.env.GENERATORS === undefined ? 'GENERATORS names no directory (CONTRIBUTING.md)' : undefined,
};
const required = (process.env.REQUIRE_ENGINES ?? '').split(',');
const isLeftOut = (name) => missing[name] !== undefined && !required.includes(name);

module.exports = {
  projects: [
    {
      ...shared,
      displayName: 'unit',
      testMatch: ['<rootDir>/test/unit/**/*.test.ts'],
      moduleNameMapper: { '^#app/(.*)\\.js$': '<rootDir>/src/$1', ...relativeImports },
    },
    overBuilt('service', ['{acceptance,contract,webhooks}/**/*', ...QUICK], ON_ENGINES),
    overBuilt('faults', ['{faults,outages,projections}/**/*'], except),
    overBuilt('engines', [
      'adapters/**/*',
      'contract/*.{mongodb,rabbitmq,eventstoredb}',
      'onProductionEngines/everyOperation',
    ]),
    // What is tried on the embedded engines above, once more on MongoDB and RabbitMQ.
    overBuilt(
      'repeated',
      ['onProductionEngines/*', 'acceptance/erasure', 'faults/{deliveries,putBack}'],
      ['/onProductionEngines/everyOperation\\.'],
      { setupFiles: ['<rootDir>/test/onProductionEngines/repeated.cjs'] },
    ),
    overBuilt('attacks', ['{attacks,fuzz,property}/**/*']),
    overBuilt('tools', ['{cli,alerts}/**/*'], except),
    overBuilt('generators', ['generators/*']),
    overBuilt('console', ['console/*']),
    overBuilt('crowds', ['crowds/*']),
  ].filter(({ displayName }) => !isLeftOut(displayName)),
  testSequencer: '<rootDir>/test/engines/longestFirst.cjs',
  // Names what was skipped because an engine or a tool is not to be had.
  reporters: [
    'default',
    [
      '<rootDir>/test/engines/skippedSuites.cjs',
      { projects: Object.keys(missing).flatMap((name) => (isLeftOut(name) ? [`${name}: ${missing[name]}`] : [])) },
    ],
  ],
  // A test that hangs ends after this; those of `test:rest` have more (patient.cjs).
  testTimeout: 30_000 * Number(process.env.TEST_TIME_SCALE ?? 1),
  maxWorkers: 2,
};

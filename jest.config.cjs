/**
 * Two kinds of tests. Unit tests (test/unit) try one part alone: no engine, no running service; they run over src/, so
 * that nothing has to be built. All others run over the built JavaScript in dist/ (npm test builds it first): what is
 * tested is what ships. Some are repeated on the production engines by test/onProductionEngines/jest.config.cjs.
 */
const shared = {
  testEnvironment: 'node',
  transform: {
    '^.+\\.[jt]s$': ['@swc/jest', { module: { type: 'commonjs' }, jsc: { target: 'es2023' }, sourceMaps: 'inline' }],
  },
  // These packages ship ES modules only.
  transformIgnorePatterns: [
    '/node_modules/(?!(uuid|p-queue|p-timeout|eventemitter3|@apidevtools/json-schema-ref-parser)/)',
  ],
  modulePathIgnorePatterns: ['<rootDir>/data/'],
};
// Files name each other as the compiler wants it, with .js.
const relativeImports = { '^(\\.{1,2}/.*)\\.js$': '$1' };

module.exports = {
  projects: [
    {
      ...shared,
      displayName: 'unit',
      testMatch: ['<rootDir>/test/unit/**/*.test.ts'],
      moduleNameMapper: { '^#app/(.*)\\.js$': '<rootDir>/src/$1', ...relativeImports },
    },
    {
      ...shared,
      displayName: 'service',
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/unit/', '<rootDir>/test/onProductionEngines/'],
      moduleNameMapper: relativeImports,
      globalSetup: '<rootDir>/test/engines/beginRun.cjs',
      globalTeardown: '<rootDir>/test/engines/endRun.cjs',
    },
  ],
  // Names suites that were skipped because their engine is not to be had.
  reporters: ['default', '<rootDir>/test/engines/skippedSuites.cjs'],
  testSequencer: '<rootDir>/test/engines/longestFirst.cjs',
  // A real engine takes half a minute to start where the machine is busy. Jest takes no limit for one project alone.
  testTimeout: 180_000 * Number(process.env.TEST_TIME_SCALE ?? 1),
  // More than the processors of a small machine: many suites wait most of their time (longestFirst.cjs).
  maxWorkers: 4,
};

/** Tests run against the built JavaScript in dist/ (npm test builds it first): what is tested is what ships. */
module.exports = {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // Tests name each other as the compiler wants it, with .js.
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.[jt]s$': ['@swc/jest', { module: { type: 'commonjs' }, jsc: { target: 'es2023' }, sourceMaps: 'inline' }],
  },
  // These packages ship ES modules only.
  transformIgnorePatterns: [
    '/node_modules/(?!(uuid|p-queue|p-timeout|eventemitter3|@apidevtools/json-schema-ref-parser)/)',
  ],
  modulePathIgnorePatterns: ['<rootDir>/data/'],
  // Names suites that were skipped because their engine is not to be had.
  reporters: ['default', '<rootDir>/test/engines/skippedSuites.cjs'],
  // A real engine takes half a minute to start where the machine is busy.
  testTimeout: 180_000,
  maxWorkers: 2,
};

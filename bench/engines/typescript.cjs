/** Lets programs of the benchmarks require the engines of the tests, which are in TypeScript: compiled as the tests compile them. */
const { existsSync } = require('node:fs');
const Module = require('node:module');
const { join } = require('node:path');
const { transformFileSync } = require('@swc/core');

const resolveFilename = Module._resolveFilename;
// Files name each other as the compiler wants it, with .js.
Module._resolveFilename = (request, parent, ...rest) => {
  const source = request.replace(/\.js$/, '.ts');
  const isSource = request.startsWith('.') && existsSync(join(parent?.path ?? __dirname, source));
  return resolveFilename(isSource ? source : request, parent, ...rest);
};
require.extensions['.ts'] = (module, file) => {
  const { code } = transformFileSync(file, {
    jsc: { parser: { syntax: 'typescript' }, target: 'es2023' },
    module: { type: 'commonjs' },
  });
  module._compile(code, file);
};

/**
 * The protocol double of EventStoreDB as a process of its own. It sends its URL, and how often it was asked for something
 * whenever it is sent anything. Its argument says how many events of others are in its log. The double is in TypeScript,
 * as the tests have it, and is compiled as they compile it.
 */
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

const { DoubleLog } = require('../../test/engines/doubleLog.ts');
const { EventStoreDouble } = require('../../test/engines/eventStoreDouble.ts');

const double = new EventStoreDouble(new DoubleLog(Number(process.argv[2] ?? 0)));
void double.start().then(() => process.send({ url: double.url }));
process.on('message', () => process.send({ calls: double.looks + double.subscriptions }));
process.once('disconnect', () => process.exit(0));

/** The arrows of the architecture point inwards only. Runs over the sources, so that imports of types count as well. */

/** Leaves that every layer may use. They use nothing of ours. */
const SHARED = ['supervision'];
/** The domain may use packages that do no I/O. */
const PACKAGE_BUT_PURE = '|^node_modules/(?!(zod|lru-cache)/)';
/** Interfaces without an implementation. */
const PACKAGE_BUT_TRACES = '|^node_modules/(?!@opentelemetry/api/)';

const layer = (folder, allowed, packages = '') => ({
  name: `${folder}-knows-only-${allowed.join('-') || 'itself'}`,
  severity: 'error',
  from: { path: `^src/${folder}/` },
  to: { path: `^src/(?!(${[folder, ...SHARED, ...allowed].join('|')})(?:/|\\.ts$))${packages}` },
});

module.exports = {
  forbidden: [
    layer('domain', [], PACKAGE_BUT_PURE),
    layer('ports', ['domain'], PACKAGE_BUT_TRACES),
    layer('commands', ['queries', 'projections/progress', 'domain', 'ports']),
    layer('projections', ['domain', 'ports']),
    layer('queries', ['projections/progress', 'domain', 'ports']),
    layer('audit', ['domain', 'ports']),
    layer('webhooks', ['commands', 'queries', 'projections/directory', 'domain', 'ports']),
    layer('api', [
      'config',
      'audit',
      'webhooks',
      'commands',
      'queries',
      'projections/directory',
      'projections/progress',
      'projections/tenantUsage',
      'projections/jobs',
      'domain',
      'ports',
    ]),
    layer('adapters', ['domain', 'ports']),
    {
      name: 'domain-does-no-io',
      severity: 'error',
      from: { path: '^src/domain/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'supervision-knows-only-itself',
      severity: 'error',
      from: { path: '^src/supervision/' },
      to: { path: '^src/(?!supervision/)' },
    },
    {
      name: 'drivers-stay-in-their-adapter',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/adapters/' },
      to: { path: '^node_modules/((mongodb|amqplib|@eventstore|@rocicorp)/|@opentelemetry/(?!api/))' },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'imports-lead-somewhere', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    moduleSystems: ['es6'],
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};

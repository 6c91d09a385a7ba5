/** The arrows of the architecture point inwards only. Runs over the built JavaScript. */
const layer = (name, from, forbidden) => ({
  name,
  severity: 'error',
  from: { path: `^dist/${from}` },
  to: { path: forbidden },
});

module.exports = {
  forbidden: [
    layer('domain-knows-only-itself', 'domain/', '^dist/(?!domain/)|^node_modules/(?!zod/)'),
    layer('ports-know-only-domain', 'ports/', '^dist/(?!domain/|ports/)|^node_modules/'),
    layer('commands-know-domain-and-ports', 'commands/', '^dist/(?!commands/|domain/|ports/)'),
    layer('projections-know-domain-and-ports', 'projections/', '^dist/(?!projections/|domain/|ports/)'),
    layer('webhooks-know-commands', 'webhooks/', '^dist/(?!webhooks/|commands/|projections/|domain/|ports/)'),
    layer('api-knows-no-adapter', 'api/', '^dist/(adapters|cli|main)'),
    layer('adapters-know-only-ports', 'adapters/', '^dist/(?!adapters/|ports/|domain/)'),
    {
      name: 'drivers-stay-in-their-adapter',
      severity: 'error',
      from: { path: '^dist/', pathNot: '^dist/adapters/' },
      to: { path: 'node_modules/(better-sqlite3|mongodb|amqplib|@eventstore)/' },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
  ],
  options: { doNotFollow: { path: 'node_modules' }, includeOnly: '^(dist|node_modules)', moduleSystems: ['es6'] },
};
